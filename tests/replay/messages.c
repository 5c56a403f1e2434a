/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/must.h"
#include "messages/source/delivery_private.h"
#include "messages/source/source_standing.h"
#include "messages/source/sources.h"
#include "replay/fakes.h"
#include "replay/messages.h"

/* What a gateway's source must have counted since it started. */
static struct tally {
	uint64_t outcomes[MESSAGE_COUNT_];
	uint64_t dead_letters[MESSAGE_COUNT_];
	uint64_t results;
	int64_t held_since_ms[MESSAGES_MAX];
	unsigned tries[MESSAGES_MAX];
	/* That ended before anybody could see whether they were just held. */
	unsigned unseen;
	bool replays; /* letters, which are counted when Redis says so */
} tallies[GATEWAYS_MAX];

/* Acknowledgements that are under way. */
static struct ending {
	enum message_outcome outcome;
	enum message_outcome reason;
	bool buried;
} endings[GATEWAYS_MAX][MESSAGES_MAX];

static unsigned executed[MESSAGES_MAX]; /* counted as executed */
static bool acknowledged[MESSAGES_MAX]; /* because it is COMPLETED */
static bool over; /* only clients come from now on */

/* --- sources --- */

struct source *
messages_source(const struct gateway *g)
{
	const struct sources *all =
	    g->worker != NULL ? members_of(g->worker, &sources_kind)
			      : NULL;
	return all != NULL
	    ? LIST_FIRST(&all->members.list, struct source, member.item)
	    : NULL;
}

static unsigned
index_of(struct span position)
{
	return (unsigned)atoi(position.ptr) - 1;
}

/* --- life --- */

void
messages_begin(void)
{
	memset(tallies, 0, sizeof tallies);
	memset(endings, 0, sizeof endings);
	memset(executed, 0, sizeof executed);
	memset(acknowledged, 0, sizeof acknowledged);
	over = false;
	message_letters_begin();
	message_counts_begin();
}

void
messages_start(struct gateway *g)
{
	tallies[g->index] = (struct tally){.results = 0};
	message_counts_start(g);
}

void
messages_gave_back(const struct gateway *g)
{
	tallies[g->index].unseen++;
}

/* --- an acknowledgement --- */

/* Redis may have forgotten what it said. */
static bool
may_forget(void)
{
	return world.forgot ||
	    (world.scenario->faults & (FAULT_FORGET | FAULT_LOSE)) != 0;
}

/* Somebody else may have changed the record since it was looked at. */
static bool
is_alone(void)
{
	return world.scenario->gateways == 1 &&
	    world.scenario->callers[0].key == NULL && !world.faulty;
}

static void
check_state(const struct delivery *d, unsigned message,
    enum message_outcome outcome, char expected)
{
	char state = redis_state_of(d->key_hex);
	if (may_forget())
		return;
	CHECK(state == expected || (expected != 'C' && !is_alone()),
	    "message %u ends as %s, and its record is '%c'", message + 1,
	    source_meter_outcomes[outcome], state);
}

static bool
is_one_lane(const struct source *s)
{
	return s->source->order_by == SOURCE_ORDER_PARTITION;
}

/* It is as its broker has it, or its record. */
static void
check_reason(const struct delivery *d, unsigned message)
{
	const struct sent_message *sent = &world.scenario->messages[message];
	const struct {
		enum message_outcome reason;
		bool is_true;
	} seen[] = {
	    {MESSAGE_MALFORMED, sent->odd != NULL || sent->lane == NULL},
	    {MESSAGE_TOO_LARGE, sent->large},
	    {MESSAGE_EXPIRED, sent->old},
	    {MESSAGE_BEHIND, sent->lane != NULL || is_one_lane(d->source)},
	    {MESSAGE_KEY_MISSING, false},
	};
	for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
		CHECK(d->reason != seen[i].reason || seen[i].is_true,
		    "message %u is a dead letter: %s", message + 1,
		    source_meter_outcomes[d->reason]);
	/* What was a letter already had its record then. */
	if (d->was_letter)
		return;
	if (d->reason == MESSAGE_REFUSED)
		check_state(d, message, d->reason, 'C');
	else if (d->reason == MESSAGE_EXHAUSTED)
		check_state(d, message, d->reason, 'F');
	else if (d->reason == MESSAGE_UNKNOWN)
		check_state(d, message, d->reason, 'U');
}

/* It becomes no letter, or is none any more: only so for these reasons. */
static void
check_plain(const struct delivery *d, unsigned message, enum message_outcome o)
{
	const struct truth *t = truth_of(
	    SPAN("a"), span_str(world.scenario->messages[message].key));
	bool refused = o == MESSAGE_REFUSED && d->source->source->refused_ack;
	bool stored =
	    o == MESSAGE_EXECUTED || o == MESSAGE_DUPLICATE || refused;
	CHECK(stored || o == MESSAGE_STALE || o == MESSAGE_DROPPED,
	    "message %u is acknowledged away: %s", message + 1,
	    source_meter_outcomes[o]);
	CHECK(o != MESSAGE_DROPPED || world.dropped,
	    "message %u is dropped by nobody", message + 1);
	if (!stored)
		return;
	check_state(d, message, o, 'C');
	CHECK(t->whole > 0 || t->executed > 0 || t->lost || may_forget(),
	    "message %u was never executed", message + 1);
}

static void
check_end(unsigned message, enum message_outcome outcome, const char *how)
{
	CHECK(outcome < MESSAGE_COUNT_, "a message ends as nothing");
	CHECK(world.scenario->ends == 0 ||
		(world.scenario->ends & 1u << outcome) != 0,
	    "message %u ends as %s", message + 1,
	    source_meter_outcomes[outcome]);
	world_say("  message %u: %s%s", message + 1,
	    source_meter_outcomes[outcome], how);
}

/* A letter is done with; or its broker is to acknowledge it at last. */
static void
check_replay(const struct delivery *d, const struct broker_finish *finish)
{
	unsigned message = index_of(finish->position);
	enum letter_act act = d->replay->act;
	CHECK(finish->mark == (act != LETTER_ACKNOWLEDGE),
	    "a mark of message %u that is none", message + 1);
	if (!finish->mark) {
		world_say("  message %u: a letter", message + 1);
		return;
	}
	check_end(message, d->outcome, ", replayed");
	CHECK((act == LETTER_DROP) == (d->outcome == MESSAGE_DROPPED),
	    "message %u is dropped, and replayed", message + 1);
	check_plain(d, message, d->outcome);
	message_letters_check_done(message);
}

static void
check_delivery(const struct gateway *g, const struct delivery *d)
{
	unsigned message = index_of(d->message->position);
	const struct broker_put *put = d->finish.put;
	check_end(message, d->outcome, d->buried ? ", dead" : "");
	CHECK(d->buried == (put && put->place == BROKER_DEAD_LETTERS),
	    "message %u: a copy of a letter that is none", message + 1);
	if (d->buried)
		check_reason(d, message);
	else
		check_plain(d, message, d->outcome);
	if (d->buried)
		message_letters_check_put(message);
	endings[g->index][message] =
	    (struct ending){d->outcome, d->reason, d->buried};
}

void
messages_check_finish(
    const struct gateway *g, const struct broker_finish *finish)
{
	const struct source *s = messages_source(g);
	struct machine *m;
	must(s != NULL);
	LIST_EACH(m, &s->deliveries.list, item)
		if (&delivery_of(m)->finish == finish) {
			check_delivery(g, delivery_of(m));
			return;
		}
	LIST_EACH(m, &s->replays.list, item)
		if (&delivery_of(m)->finish == finish) {
			check_replay(delivery_of(m), finish);
			return;
		}
	must(false);
}

void
messages_ended(const struct gateway *g, const struct broker_finish *finish,
    int error)
{
	unsigned message = index_of(finish->position);
	const struct ending *ending = &endings[g->index][message];
	struct tally *tally = &tallies[g->index];
	const struct source *s = messages_source(g);
	struct span position = finish->position;
	const struct delivery *d = delivery_find(s, position);
	bool finished = finish->finished == BROKER_FINISHED;
	if (error != 0 || d == NULL || &d->finish != finish ||
	    finish->finished == BROKER_ELSEWHERE)
		return;
	tally->outcomes[ending->outcome]++;
	enum message_outcome o = ending->outcome;
	if (finished && !ending->buried && o != MESSAGE_STALE &&
	    o != MESSAGE_DROPPED)
		acknowledged[message] = true;
	if (finished && ending->buried)
		tally->dead_letters[ending->reason]++;
	else if (finished && finish->put != NULL)
		tally->results++;
	executed[message] += ending->outcome == MESSAGE_EXECUTED;
	message_counts_ended(
	    g, message, !ending->buried && o == MESSAGE_EXECUTED);
}

/* --- order --- */

bool
messages_are_of_one_lane(unsigned one, unsigned other)
{
	const struct sent_message *a = &world.scenario->messages[one];
	const struct sent_message *b = &world.scenario->messages[other];
	if (world.confs[0]->sources[0].order_by == SOURCE_ORDER_PARTITION)
		return true;
	return a->lane != NULL && b->lane != NULL &&
	    strcmp(a->lane, b->lane) == 0;
}

/* MESSAGES_MAX: it is of no message. */
static unsigned
message_of(const struct truth *truth)
{
	const struct sent_message *list = world.scenario->messages;
	for (unsigned i = 0; i < MESSAGES_MAX && list[i].key != NULL; i++)
		if (truth_of(SPAN("a"), span_str(list[i].key)) == truth)
			return i;
	return MESSAGES_MAX;
}

/* What is asked first is decided before that. */
void
messages_check_sent(
    const struct gateway *g, const struct truth *truth, bool counts)
{
	unsigned message = message_of(truth);
	if (message < MESSAGES_MAX &&
	    world.confs[0]->routes[0].idempotency->on_unknown !=
		UNKNOWN_RECONCILE)
		message_counts_sent(g, message, counts);
}

void
messages_done(const struct gateway *g, const struct truth *truth)
{
	unsigned message = message_of(truth);
	if (message < MESSAGES_MAX)
		message_counts_done(g, message);
}

void
messages_check_order(const struct truth *truth)
{
	const struct conf *conf = world.confs[0];
	const struct sent_message *list = world.scenario->messages;
	bool parks = conf->n_sources > 0 && !conf->sources[0].behind_go_on;
	if (world.scenario->source == NULL || over ||
	    conf->sources[0].order_by == SOURCE_ORDER_NONE)
		return;
	unsigned at = message_of(truth);
	if (at == MESSAGES_MAX)
		return;
	/* Clients have no order. */
	for (unsigned i = 0; i < world.n_clients; i++)
		if (strcmp(world.clients[i].caller->key, list[at].key) == 0)
			return;
	for (unsigned i = 0; i < at; i++)
		CHECK(!messages_are_of_one_lane(i, at) || may_forget() ||
			(fake_broker_has_ended(i) &&
			    (!parks || !message_letters_has(i))),
		    "message %u is executed before message %u has ended",
		    at + 1, i + 1);
}

/* --- what a source counts and has, at rest --- */

struct sums {
	struct tally *tally;
	unsigned resting, probing, standing, finishing;
	unsigned burying, rejected;
	unsigned confirming; /* letters, which are counted after that */
	bool here[MESSAGES_MAX];
};

static void
see_delivery(const struct delivery *d, struct sums *sums)
{
	struct tally *tally = sums->tally;
	unsigned place = index_of(d->message->position);
	sums->resting += d->resting ||
	    (d->place.lane != NULL && d->place.lane->rests);
	sums->probing += d->stand.probes;
	sums->standing += list_linked(&d->stand.item);
	sums->finishing += d->finishing;
	sums->burying += d->burying;
	sums->rejected += d->rejected;
	sums->confirming += d->machine.step == DELIVERY_CONFIRMED;
	sums->here[place] = true;
	/* One that was held before goes on from there, once Redis says so. */
	if (d->held_since_ms != 0 &&
	    (tally->held_since_ms[place] == 0 ||
		d->held_since_ms > tally->held_since_ms[place]))
		tally->outcomes[MESSAGE_HELD]++;
	tally->held_since_ms[place] = d->held_since_ms;
	if (d->tries > tally->tries[place])
		tally->outcomes[MESSAGE_RETRIED] +=
		    d->tries - tally->tries[place];
	tally->tries[place] = d->tries;
}

/* Replays are counted besides, and letters once they are confirmed. */
static bool
is_counted(const struct tally *tally, const struct sums *sums, uint64_t count,
    uint64_t expected, bool rests)
{
	uint64_t late = sums->confirming + tally->unseen;
	return count + late >= expected &&
	    (count <= expected + (rests ? tally->unseen : 0) ||
		tally->replays);
}

static void
check_counts(const struct source *s, const struct sums *sums)
{
	const struct tally *tally = sums->tally;
	for (unsigned i = 0; i < MESSAGE_COUNT_; i++) {
		uint64_t count = counter_read(&s->meter->outcomes[i]);
		const char *name = source_meter_outcomes[i];
		bool rests = i == MESSAGE_HELD || i == MESSAGE_RETRIED;
		CHECK(i == MESSAGE_WAITED ||
			is_counted(
			    tally, sums, count, tally->outcomes[i], rests),
		    "\"%s\" is counted %u times, not %u", name,
		    (unsigned)count, (unsigned)tally->outcomes[i]);
		count = counter_read(&s->meter->dead_letters[i]);
		CHECK(is_counted(
			  tally, sums, count, tally->dead_letters[i], false),
		    "dead letters \"%s\" are miscounted", name);
	}
	CHECK(is_counted(tally, sums, counter_read(&s->meter->results),
		  tally->results, false),
	    "results are miscounted");
}

static void
check_source(const struct gateway *g, const struct source *s)
{
	struct tally *tally = &tallies[g->index];
	struct sums sums = {.tally = tally};
	struct machine *m;
	LIST_EACH(m, &s->deliveries.list, item)
		see_delivery(delivery_of(m), &sums);
	LIST_EACH(m, &s->replays.list, item)
		sums.probing += delivery_of(m)->stand.probes;
	for (unsigned i = 0; i < MESSAGES_MAX; i++)
		if (!sums.here[i]) {
			tally->held_since_ms[i] = 0;
			tally->tries[i] = 0;
		}
	tally->replays |= s->replays.count > 0;
	check_counts(s, &sums);
	CHECK(s->in_flight + s->resting + s->finishing == s->deliveries.count,
	    "%u in flight and %u that rest are not %u", s->in_flight,
	    s->resting, (unsigned)s->deliveries.count);
	CHECK(s->finishing == sums.finishing && s->burying == sums.burying &&
		s->rejected == sums.rejected,
	    "%u end, %u become letters, %u are not taken, by its count",
	    s->finishing, s->burying, s->rejected);
	CHECK(s->resting == sums.resting, "%u rest, not %u", sums.resting,
	    s->resting);
	CHECK(s->probing == sums.probing, "%u try for all, by its count",
	    s->probing);
	CHECK(sums.standing == 0 || timer_is_set(&s->probe) ||
		pause_stands(&s->pause) || s->member.draining ||
		(source_standing_goes(s, 0) &&
		    s->in_flight >= (unsigned)s->source->in_flight),
	    "what stands still has nobody who tries");
	CHECK(s->reader != NULL || s->deliveries.count == 0,
	    "a message is at work without its reader");
	CHECK(s->standing != 0 || s->member.draining || s->reader == NULL ||
		pause_stands(&s->pause) ||
		s->credit + s->in_flight >= (unsigned)s->source->in_flight,
	    "a source that goes has a credit of %u", s->credit);
}

/* A key that nobody else uses is claimed by nobody else. */
static void
check_clean(const struct source *s)
{
	unsigned refused = 0;
	for (unsigned i = 0; i < ACTS_MAX; i++)
		if (world.scenario->acts[i].kind != ACT_NONE)
			return;
	if (world.faulty || world.hurried || !is_alone() ||
	    (world.scenario->upstream & (DOES_FORGET | DOES_DOUBT)) != 0 ||
	    world.confs[0]->routes[0].idempotency->on_unknown != UNKNOWN_HOLD)
		return;
	for (unsigned i = 0; i < KEYS_MAX; i++)
		refused += world.truths[i].refused;
	CHECK(counter_read(&s->meter->outcomes[MESSAGE_WAITED]) == 0,
	    "a message waits for nobody");
	uint64_t retried = counter_read(&s->meter->outcomes[MESSAGE_RETRIED]);
	CHECK(retried == refused || (retried < refused && !world.healing),
	    "%u are tried again, of %u that were refused", (unsigned)retried,
	    refused);
}

/* Its outcome may be what the upstream says that it was. */
static bool
may_be_asked(void)
{
	return world.confs[0]->routes[0].idempotency->on_unknown ==
	    UNKNOWN_RECONCILE;
}

void
messages_check_now(void)
{
	if (world.scenario->source == NULL)
		return;
	for (unsigned i = 0; i < world.scenario->gateways; i++) {
		const struct gateway *g = &world.gateways[i];
		const struct source *s = messages_source(g);
		if (s == NULL || g->stalled || fake_loop_has_work(g->loop))
			continue;
		check_source(g, s);
		check_clean(s);
	}
	message_letters_check_now();
	for (unsigned i = 0; i < MESSAGES_MAX; i++) {
		const char *key = world.scenario->messages[i].key;
		if (key == NULL)
			break;
		const struct truth *t = truth_of(SPAN("a"), span_str(key));
		CHECK(executed[i] <= t->whole + t->lost ||
			may_be_asked() || may_forget(),
		    "message %u is counted as executed %u times", i + 1,
		    executed[i]);
	}
}

/* --- the end --- */

void
messages_heal(void)
{
	if (world.scenario->source == NULL)
		return;
	fake_broker_reach(false);
	if (world.paused)
		redis_pause(false);
}

static void
check_rest_of(const struct gateway *g)
{
	const struct source *s = messages_source(g);
	CHECK(s != NULL && s->deliveries.count == 0, "a delivery never ends");
	CHECK(s->replays.count == 0, "a replay never ends");
	CHECK((s->standing & ~(1u << STANDING_MEMORY)) == 0,
	    "a source stands still for ever: %s",
	    source_standing_text(s->standing).word);
}

void
messages_check_rest(void)
{
	if (world.scenario->source == NULL)
		return;
	over = true;
	CHECK(fake_broker_is_empty(), "a message is never finished");
	for (unsigned i = 0; i < world.scenario->gateways; i++)
		check_rest_of(&world.gateways[i]);
	message_letters_check_rest();
	for (unsigned i = 0; i < MESSAGES_MAX; i++) {
		const char *key = world.scenario->messages[i].key;
		if (key == NULL)
			break;
		CHECK(!acknowledged[i] || may_forget() || world.faulty ||
			!message_letters_has(i),
		    "message %u is acknowledged and a dead letter", i + 1);
	}
}

bool
messages_is_acknowledged(unsigned message)
{
	return acknowledged[message];
}

/* --- time --- */

bool
messages_are_ready(const struct gateway *g)
{
	const struct source *s = messages_source(g);
	return s == NULL ||
	    (s->heard && s->letters.n_unknown == 0);
}

bool
messages_are_due(const struct gateway *g)
{
	const struct source *s = messages_source(g);
	return s != NULL && timer_is_set(&s->letters.timer) &&
	    s->letters.n_unknown > 0 &&
	    s->letters.timer.at_ms * 1000 <= world.now_us;
}

/* Letters are looked for: it is of interest only where there is one. */
static bool
is_boring_letter(const struct source *s, const struct timer *timer)
{
	struct machine *m;
	if (timer == &s->letters.timer)
		return s->letters.n_unknown == 0 &&
		    (!messages_are_left() || s->pause.on);
	LIST_EACH(m, &s->replays.list, item) {
		const struct delivery *d = delivery_of(m);
		if (timer == &d->replay->renew ||
		    (timer == &d->waiter.op.deadline && s->pause.on))
			return true;
	}
	return false;
}

bool
messages_are_boring(const struct gateway *g, const struct timer *timer)
{
	const struct source *s = messages_source(g);
	if (s == NULL)
		return false;
	return timer == &s->look || is_boring_letter(s, timer) ||
	    (timer == &s->leadership.watch.timer &&
		!s->leadership.watch.again) ||
	    (timer == &s->leadership.end && !world.redis_down) ||
	    (timer == &s->probe && s->pause.on) ||
	    (timer == &s->pause.watch.timer && s->pause.known &&
		s->pause.on == world.paused);
}

static void
take_first(const struct timer *timer, int64_t *first_ms)
{
	if (timer_is_set(timer) &&
	    (*first_ms == 0 || timer->at_ms < *first_ms))
		*first_ms = timer->at_ms;
}

int64_t
messages_beat_ms(void)
{
	int64_t first_ms = 0;
	struct machine *m;
	for (unsigned i = 0; i < world.scenario->gateways; i++) {
		const struct gateway *g = &world.gateways[i];
		const struct source *s = messages_source(g);
		if (s == NULL || g->stalled)
			continue;
		if (s->leadership.term != 0)
			take_first(&s->leadership.watch.timer, &first_ms);
		LIST_EACH(m, &s->replays.list, item)
			take_first(&messages_replay_of(m)->renew, &first_ms);
	}
	return first_ms;
}

unsigned
messages_readers(void)
{
	unsigned readers = 0;
	for (unsigned i = 0; i < world.scenario->gateways; i++)
		readers |= (unsigned)(world.gateways[i].reader != NULL) << i;
	return readers;
}

bool
messages_leads(const struct gateway *g)
{
	const struct source *s = messages_source(g);
	return s != NULL && s->leadership.term != 0;
}

void
messages_lose_leadership(struct gateway *g)
{
	struct source *s = messages_source(g);
	redis_seize_leadership();
	timer_set(&s->leadership.watch.timer, 0);
	fake_loop_fire(g->loop);
}

/* --- claims --- */

const struct claim *
messages_claim(const struct gateway *g, const void *owner)
{
	const struct source *s = messages_source(g);
	struct machine *m;
	if (s == NULL)
		return NULL;
	LIST_EACH(m, &s->deliveries.list, item) {
		const struct delivery *d = delivery_of(m);
		if (d->c.claim.owner.bytes == owner)
			return &d->c.claim;
	}
	LIST_EACH(m, &s->replays.list, item) {
		const struct delivery *d = delivery_of(m);
		if (d->c.claim.owner.bytes == owner)
			return &d->c.claim;
	}
	return NULL;
}

bool
messages_replays(
    const struct gateway *g, const void *owner, uint64_t *ret_purpose)
{
	const struct source *s = messages_source(g);
	struct machine *m;
	if (s == NULL)
		return false;
	LIST_EACH(m, &s->replays.list, item) {
		const struct replay *r = messages_replay_of(m);
		if (r->owner.bytes != owner)
			continue;
		*ret_purpose = mix_bytes(
		    ABOUT_LETTER, r->name.id, sizeof r->name.id);
		return true;
	}
	return false;
}

uint64_t
messages_counts_hash(void)
{
	uint64_t hash = mix_bytes(0, executed, sizeof executed);
	return mix_bytes(hash, acknowledged, sizeof acknowledged);
}
