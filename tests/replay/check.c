/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/must.h"
#include "gate/request.h"
#include "replay/check.h"
#include "replay/choice.h"
#include "replay/events.h"
#include "replay/fakes.h"
#include "replay/messages.h"
#include "store/record/record.h"

enum {
	/* Events after which a healing world must have come to rest. */
	HEALING_MAX = 2000,
	/* How late an expired lease may be noticed, in ms. */
	LAPSE_MS = 3000,
};

static const struct conf_idempotency *
policy(void)
{
	return world.confs[0]->routes[0].idempotency;
}

static bool
is_clean(void)
{
	return !world.faulty && !world.hurried;
}

/* --- once --- */

/* A source has its own: more, or less. */
static unsigned
max_attempts(bool least)
{
	const struct conf *conf = world.confs[0];
	unsigned ours = (unsigned)policy()->max_attempts;
	unsigned others = conf->n_sources > 0
	    ? (unsigned)conf->sources[0].retry_attempts
	    : ours;
	return (ours < others) == least ? ours : others;
}

/* Transactions of the API that are open, and that nobody has revoked. */
static unsigned
may_commit(const struct truth *t)
{
	return (unsigned)__builtin_popcountll(t->rows_open & ~t->rows_revoked);
}

static void
check_executions(const struct truth *t)
{
	unsigned maybe = t->executed + t->unsure;
	unsigned counted = maybe + t->refused - t->spared;
	CHECK(counted <= max_attempts(false) * (1 + world.replays),
	    "%s: sent %u times", t->key, counted);
	switch (policy()->on_unknown) {
	case UNKNOWN_HOLD:
		CHECK(maybe <= 1, "%s: sent %u times", t->key, maybe);
		break;
	case UNKNOWN_RETRY:
		break;
	case UNKNOWN_RECONCILE:
	case UNKNOWN_WITNESS:
		CHECK(t->executed + may_commit(t) <= 1,
		    "%s: executed %u times, and %u more may commit", t->key,
		    t->executed, may_commit(t));
		break;
	}
}

/* --- the answer --- */

/* An answer that was stored must be of this key, and the same each time. */
static void
check_answer(const struct client *client)
{
	struct truth *t = client->truth;
	size_t len = strlen(t->key);
	CHECK(strncmp(client->body, t->key, len) == 0 &&
		client->body[len] == ' ',
	    "%s is given \"%s\"", t->key, client->body);
	if (client->status == 401 || client->status == 503 ||
	    client->status == 504 || t->unpromised > 0)
		return;
	CHECK(!t->given || t->answer == client->seen,
	    "%s: two clients see two answers", t->key);
	t->given = true;
	t->answer = client->seen;
}

static void
check_client(const struct client *client)
{
	const struct request *r = client->x ? client->x->op.task.arg : NULL;
	CHECK(client->state != CALLER_LEFT || r == NULL ||
		client->gateway->stalled || r->waiter.op.state != OP_PENDING,
	    "a client that has left keeps its place");
	if (client->state != CALLER_ANSWERED)
		return;
	CHECK(!client->unkept ||
		strcmp(client->problem, "store-unavailable") == 0 ||
		strcmp(client->problem, "overloaded") == 0 ||
		strcmp(client->problem, "draining") == 0,
	    "a claim although its outcome may have no place to go");
	if (client->problem[0] == '\0')
		check_answer(client);
	bool waits = client->caller->wait_s > 0 ||
	    (policy()->in_flight == IN_FLIGHT_WAIT &&
		!client->gateway->reloaded);
	CHECK(!waits || !is_clean() || world.slow < world.scenario->slow ||
		strcmp(client->problem, "in-flight") != 0,
	    "a client that waits is told to come again");
}

/* --- leases --- */

/* Records that are PROCESSING, with leases that last. */
static unsigned owners;

/* Whether the lease of its attempt, or of the one before, has run out. */
static bool
has_lapsed(struct span record)
{
	static const char before[] = " before=";
	const char *note =
	    memmem(record.ptr, record.len, before, sizeof before - 1);
	char reason = record.ptr[3];
	if (reason == '-' && note != NULL)
		reason = note[sizeof before - 1 + TOKEN_CHARS];
	return reason == 'l' || reason == 'L';
}

static void
see_record(const char *name, struct span value)
{
	(void)name;
	if (value.len < 100 || value.ptr[2] == 'C' || value.ptr[0] == '?')
		return;
	bool lapsed = has_lapsed(value);
	world.lapsed |= lapsed;
	/* UNKNOWN because its lease has expired, though its owner was well. */
	bool expired = value.ptr[2] == 'U' && lapsed;
	CHECK(!expired || !is_clean(), "a lease ran out that nothing kept "
				      "from being renewed");
	if (value.ptr[2] != 'P')
		return;
	int64_t lease_until_ms = 0;
	for (unsigned i = 42; i < 55; i++)
		lease_until_ms = 10 * lease_until_ms + (value.ptr[i] - '0');
	owners += lease_until_ms > redis_now_ms();
	CHECK(!world.healing || lease_until_ms + LAPSE_MS >= redis_now_ms(),
	    "PROCESSING %lld ms after the end of its lease",
	    (long long)(redis_now_ms() - lease_until_ms));
}

void
check_now(void)
{
	for (unsigned i = 0; i < KEYS_MAX; i++)
		if (world.truths[i].key[0] != '\0')
			check_executions(&world.truths[i]);
	for (unsigned i = 0; i < CALLERS_MAX; i++)
		if (world.clients[i].caller != NULL)
			check_client(&world.clients[i]);
	owners = 0;
	redis_records(see_record);
	CHECK(!policy()->serialize || owners <= 1,
	    "an entity has %u owners at once", owners);
	messages_check_now();
}

/* --- healing --- */

/* Runs the normal course until nothing is left to happen. */
static void
run_to_rest(void)
{
	struct chance events[EVENTS_MAX];
	for (unsigned n = 0;; n++) {
		while (events_settle())
			continue;
		check_now();
		unsigned count = events_list(events);
		if (count == 0)
			return;
		CHECK(n < HEALING_MAX, "it does not come to rest");
		events_happen(&events[0]);
	}
}

static void
heal(void)
{
	world.healing = true;
	world.redis_down = false;
	world_memory(false);
	messages_heal();
	for (unsigned i = 0; i < world.scenario->gateways; i++) {
		struct gateway *g = &world.gateways[i];
		g->stalled = g->disk_full = false;
		if (!gateway_lives(g))
			gateway_start(g);
	}
	while (ghosts_count() > 0)
		ghosts_execute();
	/* Lets the sweeper find expired leases before records are judged. */
	world.healing = false;
	int64_t until_us = world.now_us + LAPSE_MS * 1000;
	for (;;) {
		while (events_settle())
			continue;
		if (world.now_us >= until_us || !events_time_matters())
			break;
		events_happen(&(struct chance){.what = HAPPENS_TIME});
	}
	world.healing = true;
	run_to_rest();
}

/* --- what a retry gets --- */

static void
check_all_answered(void)
{
	for (unsigned i = 0; i < world.n_clients; i++) {
		const struct client *client = &world.clients[i];
		CHECK(client->x == NULL, "client %u is never answered", i + 1);
		CHECK(client->state != CALLER_CUT_OFF || !is_clean(),
		    "client %u is cut off", i + 1);
	}
	for (unsigned i = 0; i < world.scenario->gateways; i++) {
		const struct worker *w = world.gateways[i].worker;
		CHECK(w->requests.count == 0 && w->executions.count == 0,
		    "a machine never ends");
		CHECK(store_unsettled(w->store) == 0,
		    "a claim is never given back");
		CHECK(journal_replay_is_done(&w->journal_replay),
		    "an outcome stays in the journal");
	}
}

static const struct client *
retry(const struct caller *caller)
{
	struct client *client = &world.clients[CALLERS_MAX - 1];
	must(world.n_clients < CALLERS_MAX);
	world_say("a retry of %s", caller->key);
	client_arrive(client, caller);
	run_to_rest();
	CHECK(client->state == CALLER_ANSWERED, "a retry is not answered");
	return client;
}

static void
check_key(const struct caller *caller)
{
	const struct truth *t = truth_of(
	    span_str(caller->scope ? caller->scope : "a"),
	    span_str(caller->key));
	struct truth before = *t;
	struct client first = *retry(caller);
	if (strcmp(first.problem, "key-reused") == 0 ||
	    strcmp(first.problem, "stale-version") == 0)
		return; /* another fingerprint, or version, came first */
	bool answered = first.problem[0] == '\0';
	bool exhausted = strcmp(first.problem, "attempts-exhausted") == 0;
	CHECK(answered || exhausted ||
		strcmp(first.problem, "outcome-unknown") == 0,
	    "%s: a retry in the end gets %s", t->key, first.problem);
	/*
	 * A replica may not have heard that an attempt was given back; and
	 * nobody may give one back behind which another was claimed, because
	 * its lease had run out.
	 */
	unsigned spared = before.spared;
	CHECK(!exhausted || before.lost || world.forgot || world.lapsed ||
		before.forwarded - spared >= max_attempts(true),
	    "%s is exhausted after %u attempts, and %u that do not count",
	    t->key, before.forwarded - spared, spared);
	/* A client may be left without an answer only for a reason. */
	CHECK(answered || before.in_doubt > 0 || before.lost || exhausted ||
		world.forgot,
	    "%s is unknown, though nothing was in doubt", t->key);
	bool decided = before.whole > 0 && !before.lost &&
	    (policy()->on_unknown != UNKNOWN_RETRY ||
		before.executed + before.unsure == 1);
	CHECK(!decided || first.replayed,
	    "%s: the upstream's answer is lost", t->key);
	CHECK(!before.given || (answered && first.seen == before.answer),
	    "%s: a retry gets another answer", t->key);
	const struct client *second = retry(caller);
	CHECK(!answered || (second->replayed && second->seen == first.seen),
	    "%s: a second retry gets another answer", t->key);
}

static bool
is_callers(const char *key)
{
	for (unsigned i = 0; i < world.n_clients; i++)
		if (strcmp(world.clients[i].caller->key, key) == 0)
			return true;
	return false;
}

/* Who asks with a message's key is told what became of it. */
static void
check_messages(void)
{
	static struct caller callers[MESSAGES_MAX];
	for (unsigned i = 0; i < MESSAGES_MAX; i++) {
		const struct sent_message *m = &world.scenario->messages[i];
		if (m->key == NULL)
			return;
		if (is_callers(m->key) || *m->key == '\0')
			continue;
		const struct truth *t =
		    truth_of(SPAN("a"), span_str(m->key));
		unsigned forwarded = t->forwarded;
		callers[i] = (struct caller){.key = m->key, .body = m->body};
		check_key(&callers[i]);
		CHECK(!messages_is_acknowledged(i) || world.forgot ||
			t->forwarded == forwarded,
		    "message %u was acknowledged, and is executed again",
		    i + 1);
	}
}

void
check_end(void)
{
	choice_rest(true);
	world_say("all heals");
	heal();
	check_all_answered();
	messages_check_rest();
	for (unsigned i = 0; i < world.n_clients; i++) {
		const struct caller *caller = world.clients[i].caller;
		bool again = false;
		for (unsigned k = 0; k < i; k++)
			again |= world.clients[k].caller->key == caller->key &&
			    world.clients[k].caller->scope == caller->scope;
		if (!again)
			check_key(caller);
	}
	check_messages();
	/* Nothing is left that a drain would wait for. */
	int64_t began_us = world.now_us;
	for (unsigned i = 0; i < world.scenario->gateways; i++)
		gateway_drain(&world.gateways[i]);
	while (events_settle())
		continue;
	for (unsigned i = 0; i < world.scenario->gateways; i++)
		CHECK(!gateway_lives(&world.gateways[i]),
		    "an idle gateway does not end");
	must(world.now_us == began_us);
}
