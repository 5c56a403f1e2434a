/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "gate/trust.h"
#include "gate/worker_state.h"
#include "store/shared.h"

enum {
	ASK_MS = 4000,
	RETRY_MS = 500,
	/* Others may be told of a newer proof so late. */
	PROVE_MS = 2000,
	/* What Redis was asked for longer ago is not gone by. */
	STALE_US = 2 * ASK_MS * 1000,
	WHY = 160,
};

/* Of one route that has, or had, a witness. */
struct trust {
	struct trust *_Atomic next;
	char *name;
	struct shared_watch watch;
	bool asked; /* the worker's generation has it */
	bool left;  /* a generation had none, which Redis is told first */
	bool needs_catalogue; /* enforced_by is configured */
	char which[DIGEST_HEX + 1]; /* the witness, as it is configured */

	/* What the catalogue says. */
	bool read;
	char unusable[WHY];   /* "": it can be asked */
	char unenforced[WHY]; /* "": enforced_by holds */

	/* What Redis says, of all gateways. */
	bool known;
	int64_t asked_us; /* when Redis was asked for that */
	bool ended;
	int64_t told_ms;     /* the last proof that Redis has */
	int64_t since_ms;    /* it is this witness, and may be believed */
	int64_t enforced_ms; /* since when enforced_by holds; 0: it does not */

	int64_t proven_ms; /* the last that this worker knows */
	/* What Redis is to be told: why it has ended; "": nothing. */
	char end[WHY];

	/* For other threads. */
	atomic_int state; /* enum trust_state */
	atomic_llong ended_ms;
};

struct trusts {
	struct worker *worker;
	struct trust *_Atomic first; /* only ever added to, at the end */
};

const char *const trust_words[] = {
    [TRUST_UNPROVEN] = "unproven",
    [TRUST_PROVEN] = "proven",
    [TRUST_ENFORCED] = "enforced",
    [TRUST_ABSENT] = "absent",
    [TRUST_BROKEN] = "broken",
};

static struct trust *
find(const struct trusts *trusts, const char *route)
{
	struct trust *t = atomic_load(&trusts->first);
	while (t != NULL && strcmp(t->name, route) != 0)
		t = atomic_load(&t->next);
	return t;
}

/* The catalogue proves that each payment has its row. */
static bool
is_enforced(const struct trust *t)
{
	return t->needs_catalogue && t->read && t->unenforced[0] == '\0';
}

/* --- what Redis has --- */

/* Other threads see what stands now. */
static void
show(struct trust *t, struct span why, int64_t ended_ms)
{
	enum trust_state state = TRUST_UNPROVEN;
	if (t->ended)
		state = span_starts(why, SPAN("absent")) ? TRUST_ABSENT
							 : TRUST_BROKEN;
	else if (t->unusable[0] != '\0')
		state = TRUST_UNPROVEN;
	else if (is_enforced(t))
		state = TRUST_ENFORCED;
	else if (t->proven_ms > 0)
		state = TRUST_PROVEN;
	atomic_store(&t->state, (int)state);
	atomic_store(&t->ended_ms, ended_ms);
}

/* The first thing that Redis does not know yet; else what it knows is read. */
static struct store_call *
ask(struct shared_watch *watch)
{
	struct trust *t = CONTAINER_OF(watch, struct trust, watch);
	const char *act = "look";
	const char *what = t->left ? "" : t->which;
	const char *more = !t->read ? "" : is_enforced(t) ? "1" : "0";
	char proof[24];
	if (t->end[0] != '\0') {
		/* Alone, so that what is heard is about that. */
		act = "end";
		what = t->end;
	} else if (t->known && t->proven_ms > t->told_ms) {
		snprintf(proof, sizeof proof, "%" PRId64, t->proven_ms);
		act = "prove";
		more = proof;
	}
	return shared_act(&watch->shared, SCRIPT_trust, "trust", act,
	    span_str(what), span_str(more));
}

static void
heard(struct shared_watch *watch, const struct store_call *call,
    const struct call_reply *reply)
{
	struct trust *t = CONTAINER_OF(watch, struct trust, watch);
	if (reply == NULL || reply->n_extra < 6) {
		if (!watch->again)
			timer_set(&watch->timer, RETRY_MS);
		return;
	}
	bool ended = shared_number(reply, 1) != 0;
	/*
	 * Redis is told next where it ended meanwhile for this worker alone, or
	 * where another gateway has another witness, as during a reload.
	 */
	if (ended)
		t->end[0] = '\0'; /* of whichever witness that stands there */
	if (t->end[0] == '\0' && t->left &&
	    call_reply_text(reply, 5).len == 0) {
		t->left = false;
		if (!t->asked) {
			shared_watch_stop(watch);
			return;
		}
	}
	if (t->end[0] != '\0' ||
	    !span_eq(call_reply_text(reply, 5), span_str(t->which))) {
		t->known = false;
		timer_set(&watch->timer, RETRY_MS);
		return;
	}
	t->known = watch->has_last = true;
	t->asked_us = call->run.link.sent_us;
	/* What was proven before it came to an end counts no more. */
	if (ended || t->ended)
		t->proven_ms = 0;
	t->ended = ended;
	t->told_ms = shared_number(reply, 0);
	if (t->told_ms > t->proven_ms)
		t->proven_ms = t->told_ms;
	t->since_ms = shared_number(reply, 2);
	t->enforced_ms = shared_number(reply, 3);
	show(t, call_reply_text(reply, 4), shared_number(reply, 1));
}

/* Redis is asked, or told, at once. */
static void
hurry(struct trust *t)
{
	t->watch.again = true;
	if (t->asked && t->watch.call == NULL)
		timer_set(&t->watch.timer, 0);
}

/* --- what the witness finds out --- */

void
trust_catalogue(struct trusts *trusts, const char *route,
    const char *unusable, const char *unenforced)
{
	struct trust *t = find(trusts, route);
	const struct {
		enum event event;
		const char *now;
		char *before;
	} found[] = {{EV_witness_unusable, unusable, t->unusable},
	    {EV_witness_unenforced, unenforced, t->unenforced}};
	for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
		const char *now = found[i].now != NULL ? found[i].now : "";
		if (*now != '\0' && strcmp(now, found[i].before) != 0) {
			struct logline line = log_begin(found[i].event);
			log_str(&line, "route", route);
			log_str(&line, "error", now);
			log_end(&line);
		}
		snprintf(found[i].before, WHY, "%s", now);
	}
	bool news = !t->read || is_enforced(t) != (t->enforced_ms > 0);
	t->read = true;
	if (!t->ended)
		show(t, SPAN(""), 0);
	if (news)
		hurry(t);
}

bool
trust_is_guarded(const struct trusts *trusts, const char *route)
{
	const struct trust *t = find(trusts, route);
	return t != NULL && t->read && t->unusable[0] == '\0' &&
	    !is_enforced(t);
}

void
trust_proven(struct trusts *trusts, const char *route, int64_t sent_ms)
{
	struct trust *t = find(trusts, route);
	if (t == NULL || t->ended || sent_ms <= t->proven_ms)
		return;
	t->proven_ms = sent_ms;
	show(t, SPAN(""), 0);
	/* All workers prove the same: few of them tell it. */
	if (sent_ms - t->told_ms > PROVE_MS)
		hurry(t);
}

void
trust_end(struct trusts *trusts, const char *route, bool broken,
    const struct key_id *key_id, uint32_t attempt)
{
	struct trust *t = find(trusts, route);
	enum event event = broken ? EV_witness_broken : EV_witness_absent;
	char hex[DIGEST_HEX + 1];
	if (t == NULL || t->ended)
		return;
	hex_encode(key_id->bytes, DIGEST_BYTES, hex);
	struct logline line = log_begin(event);
	log_str(&line, "route", route);
	log_str(&line, "key_id", hex);
	log_int(&line, "attempt", attempt);
	log_end(&line);
	t->ended = true;
	t->proven_ms = 0;
	snprintf(t->end, sizeof t->end, "%s: %s, attempt %" PRIu32,
	    broken ? "broken" : "absent", hex, attempt);
	show(t, span_str(t->end), clock_wall_ms());
	hurry(t);
}

/* --- whether it may be believed --- */

const char *
trust_why(const struct trusts *trusts, const struct conf_route *route,
    int64_t claimed_ms, int64_t unknown_ms)
{
	const struct trust *t = find(trusts, route->name);
	/* This process may have been stopped, or Redis away. */
	bool stale = t != NULL && t->asked &&
	    clock_us() - t->asked_us > STALE_US;
	if (t == NULL || !t->known || stale)
		return "Redis has not said yet whether the witness may be "
		       "believed";
	if (t->ended)
		return "the witness may not be believed until an operator "
		       "says so (onceproxy witness trust)";
	if (!t->read)
		return "the catalogue of the witness' database was not read "
		       "yet";
	if (t->unusable[0] != '\0')
		return t->unusable;
	if (claimed_ms <= t->since_ms)
		return "it was sent before the first gateway knew this "
		       "witness, or before an operator said that it may be "
		       "believed";
	if (is_enforced(t) && t->enforced_ms > 0 &&
	    claimed_ms > t->enforced_ms)
		return NULL;
	if (t->proven_ms > 0 && t->proven_ms > unknown_ms)
		return NULL;
	return "no 2xx has proven yet that the API writes the witness, of "
	       "those that were sent since";
}

bool
trust_view(const struct trusts *trusts, const char *route,
    enum trust_state *ret_state, int64_t *ret_ended_ms)
{
	const struct trust *t = find(trusts, route);
	if (t == NULL)
		return false;
	*ret_state = (enum trust_state)atomic_load(&t->state);
	*ret_ended_ms = atomic_load(&t->ended_ms);
	return true;
}

/* --- an operator's word --- */

static void
on_said(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (call->op == NULL)
		return;
	if (how == CALL_ANSWERED)
		call->op->verdict = reply->verdict;
	call_end_op(call, error);
}

void
trust_say(struct store_op *op, struct store *store, const char *route,
    struct span who, struct span note)
{
	struct shared shared;
	shared_init(&shared, store, "witness", route);
	call_begin_op(store, op);
	struct store_call *call =
	    shared_act(&shared, SCRIPT_trust, "trust", "trust", who, note);
	call->done = on_said;
	call_join_op(call, op);
	call_start(call);
}

/* --- life --- */

/* Another broker, table or enforced_by is another witness. */
static void
name_witness(struct trust *t, const struct conf_witness *witness)
{
	const char *by = witness->enforced_by;
	const char *const parts[] = {witness->broker->postgres, witness->table,
	    by != NULL ? by : ""};
	struct digest digest;
	uint8_t bytes[DIGEST_BYTES];
	char before[sizeof t->which];
	memcpy(before, t->which, sizeof before);
	t->needs_catalogue = by != NULL;
	digest_begin(&digest, SPAN("witness"), SPAN(""));
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		digest_part(&digest, span_str(parts[i]));
	digest_end(&digest, bytes);
	hex_encode(bytes, DIGEST_BYTES, t->which);
	if (strcmp(before, t->which) != 0) {
		t->known = t->read = false;
		t->proven_ms = 0;
	}
}

static void
watch_redis(const struct trusts *trusts, struct trust *t)
{
	struct worker *w = trusts->worker;
	t->watch = (struct shared_watch){.word = "trust", .every_ms = ASK_MS,
	    .ask = ask, .heard = heard, .has_last = t->known};
	shared_watch_start(
	    &t->watch, w->store, w->loop, "witness", t->name);
}

void
trust_reload(struct trusts *trusts)
{
	const struct conf *conf = trusts->worker->generation->conf;
	struct trust *t = atomic_load(&trusts->first);
	for (; t != NULL; t = atomic_load(&t->next)) {
		shared_watch_stop(&t->watch);
		t->asked = false;
	}
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_route *route = &conf->routes[i];
		if (!conf_has_witness(route))
			continue;
		t = find(trusts, route->name);
		if (t == NULL) {
			struct trust *_Atomic *end = &trusts->first;
			while (atomic_load(end) != NULL)
				end = &atomic_load(end)->next;
			t = mem_zero(sizeof *t);
			t->name = mem_str(span_str(route->name));
			atomic_store(end, t);
		}
		if (t->asked)
			continue; /* another route of that name */
		t->asked = true;
		name_witness(t, &route->idempotency->witness);
		watch_redis(trusts, t);
	}
	/*
	 * A route has no witness any more, which Redis is told once, and before
	 * anything else: should the route have the same again, that knows
	 * nothing of what was sent meanwhile, or was under way.
	 */
	for (t = atomic_load(&trusts->first); t; t = atomic_load(&t->next)) {
		if (t->asked || (t->which[0] == '\0' && !t->left))
			continue;
		t->which[0] = '\0';
		t->left = true;
		t->known = t->read = false;
		t->proven_ms = 0;
		watch_redis(trusts, t);
	}
}

struct trusts *
trust_new(struct worker *worker)
{
	struct trusts *trusts = mem_zero(sizeof *trusts);
	trusts->worker = worker;
	trust_reload(trusts);
	return trusts;
}

void
trust_stop(struct trusts *trusts)
{
	struct trust *t = atomic_load(&trusts->first);
	for (; t != NULL; t = atomic_load(&t->next))
		shared_watch_stop(&t->watch);
}

void
trust_free(struct trusts **trusts)
{
	struct trusts *all = *trusts;
	*trusts = NULL;
	if (all == NULL)
		return;
	struct trust *t = atomic_load(&all->first);
	while (t != NULL) {
		struct trust *next = atomic_load(&t->next);
		free(t->name);
		free(t);
		t = next;
	}
	free(all);
}
