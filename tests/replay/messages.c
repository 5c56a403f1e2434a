/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/must.h"
#include "messages/source/delivery_private.h"
#include "messages/source/source_standing.h"
#include "messages/source/sources.h"
#include "messages/source/sources_view.h"
#include "replay/fakes.h"
#include "replay/messages.h"

enum {
	ASK_MS = 10000,
	/* Deliveries of a message, and of a dead letter of it. */
	PLACES = 2 * MESSAGES_MAX,
};

/* What a gateway's source must have counted since it started. */
static struct tally {
	uint64_t outcomes[MESSAGE_COUNT_];
	uint64_t dead_letters[MESSAGE_COUNT_];
	uint64_t results;
	int64_t held_since_ms[PLACES];
	unsigned tries[PLACES];
	/* That ended before anybody could see whether they were just held. */
	unsigned unseen;
} tallies[GATEWAYS_MAX];

/* Acknowledgements that are under way. */
static struct ending {
	enum message_outcome outcome;
	enum message_outcome reason;
	bool buried;
} endings[GATEWAYS_MAX][PLACES];

static unsigned executed[MESSAGES_MAX]; /* counted as executed */
static bool acknowledged[MESSAGES_MAX]; /* because it is COMPLETED */
static bool over; /* only clients come from now on */
static struct inquiry_op inquiries[GATEWAYS_MAX];

/* --- sources --- */

/* The gateway's source, or the one that it is about to end; NULL: none. */
static struct source *
source_of(const struct gateway *g)
{
	const struct sources *all =
	    g->worker != NULL ? sources_of(g->worker) : NULL;
	if (all == NULL)
		return NULL;
	return all->first != NULL ? all->first : all->leaving;
}

static unsigned
index_of(const struct delivery *d)
{
	return (unsigned)atoi(d->message->position.ptr) - 1;
}

static unsigned
place_of(unsigned message, struct span letter)
{
	return letter.len > 0 ? MESSAGES_MAX + message : message;
}

static void
each_delivery(const struct source *s,
    void (*see)(const struct delivery *d, void *arg), void *arg)
{
	struct machine *m;
	LIST_EACH(m, &s->deliveries.list, item)
		see(delivery_of(m), arg);
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
}

void
messages_start(struct gateway *g)
{
	tallies[g->index] = (struct tally){.results = 0};
}

/* Whoever asked gives up. */
void
messages_end(struct gateway *g)
{
	if (world.scenario->source != NULL &&
	    inquiries[g->index].op.loop != NULL)
		inquiry_end(&inquiries[g->index]);
	inquiries[g->index] = (struct inquiry_op){.inquiry = NULL};
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
check_state(const struct delivery *d, unsigned message, char expected)
{
	char state = redis_state_of(d->c.key_hex);
	if (may_forget())
		return;
	CHECK(state == expected || (expected != 'C' && !is_alone()),
	    "message %u ends as %s, and its record is '%c'", message + 1,
	    source_meter_outcome(d->buried ? d->reason : d->outcome), state);
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
		    source_meter_outcome(d->reason));
	if (d->reason == MESSAGE_REFUSED)
		check_state(d, message, 'C');
	else if (d->reason == MESSAGE_EXHAUSTED)
		check_state(d, message, 'F');
	else if (d->reason == MESSAGE_UNKNOWN)
		check_state(d, message, 'U');
}

/* It has no dead letter: that is only so for these reasons. */
static void
check_plain(const struct delivery *d, unsigned message)
{
	const struct truth *t = truth_of(
	    SPAN("a"), span_str(world.scenario->messages[message].key));
	enum message_outcome o = d->outcome;
	bool refused = o == MESSAGE_REFUSED && d->source->source->refused_ack;
	bool stored =
	    o == MESSAGE_EXECUTED || o == MESSAGE_DUPLICATE || refused;
	CHECK(stored || o == MESSAGE_STALE || o == MESSAGE_DROPPED,
	    "message %u is acknowledged away: %s", message + 1,
	    source_meter_outcome(o));
	CHECK(o != MESSAGE_DROPPED || world.dropped,
	    "message %u is dropped by nobody", message + 1);
	if (!stored)
		return;
	check_state(d, message, 'C');
	CHECK(t->whole > 0 || t->executed > 0 || t->lost || may_forget(),
	    "message %u was never executed", message + 1);
}

void
messages_check_finish(
    const struct gateway *g, struct broker_finish *finish)
{
	const struct delivery *d =
	    CONTAINER_OF(finish, struct delivery, finish);
	unsigned message = index_of(d);
	CHECK(d->outcome < MESSAGE_COUNT_, "a message ends as nothing");
	CHECK(world.scenario->ends == 0 ||
		(world.scenario->ends & 1u << d->outcome) != 0,
	    "message %u ends as %s", message + 1,
	    source_meter_outcome(d->outcome));
	CHECK(d->buried ==
		(finish->put != NULL &&
		    finish->put->place == BROKER_DEAD_LETTERS),
	    "message %u: a dead letter that is none", message + 1);
	world_say("  message %u: %s%s", message + 1,
	    source_meter_outcome(d->outcome), d->buried ? ", dead" : "");
	if (d->buried)
		check_reason(d, message);
	else
		check_plain(d, message);
	endings[g->index][place_of(message, finish->letter)] =
	    (struct ending){d->outcome, d->reason, d->buried};
}

void
messages_ended(const struct gateway *g, const struct broker_finish *finish,
    int error)
{
	unsigned message = (unsigned)atoi(finish->position.ptr) - 1;
	const struct ending *ending =
	    &endings[g->index][place_of(message, finish->letter)];
	struct tally *tally = &tallies[g->index];
	if (error != 0)
		return;
	tally->outcomes[ending->outcome]++;
	bool finished = finish->finished == BROKER_FINISHED;
	enum message_outcome o = ending->outcome;
	if (finished && !ending->buried && o != MESSAGE_STALE &&
	    o != MESSAGE_DROPPED)
		acknowledged[message] = true;
	if (finished && ending->buried)
		tally->dead_letters[ending->reason]++;
	else if (finished && finish->put != NULL)
		tally->results++;
	executed[message] += ending->outcome == MESSAGE_EXECUTED;
}

/* --- order --- */

static bool
are_of_one_lane(const struct sent_message *a, const struct sent_message *b)
{
	if (world.confs[0]->sources[0].order_by == SOURCE_ORDER_PARTITION)
		return true;
	return a->lane != NULL && b->lane != NULL &&
	    strcmp(a->lane, b->lane) == 0;
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
	unsigned at = 0;
	while (at < MESSAGES_MAX && list[at].key != NULL &&
	    truth_of(SPAN("a"), span_str(list[at].key)) != truth)
		at++;
	if (at == MESSAGES_MAX || list[at].key == NULL)
		return;
	/* Clients have no order. */
	for (unsigned i = 0; i < world.n_clients; i++)
		if (strcmp(world.clients[i].caller->key, list[at].key) == 0)
			return;
	for (unsigned i = 0; i < at; i++)
		CHECK(!are_of_one_lane(&list[i], &list[at]) ||
			(fake_broker_has_ended(i) &&
			    (!parks || !fake_broker_has_letter(i))),
		    "message %u is executed before message %u has ended",
		    at + 1, i + 1);
}

/* --- what a source counts and has, at rest --- */

struct sums {
	struct tally *tally;
	unsigned resting, starving, probing, standing;
	bool here[PLACES];
};

static void
see_delivery(const struct delivery *d, void *arg)
{
	struct sums *sums = arg;
	struct tally *tally = sums->tally;
	unsigned place = place_of(index_of(d), d->message->letter);
	sums->resting += d->resting || lanes_rests(&d->place);
	sums->starving += d->starving;
	sums->probing += d->probe;
	sums->standing += d->machine.step == DELIVERY_STOOD;
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

static void
check_counts(const struct source *s, const struct tally *tally)
{
	for (unsigned i = 0; i < MESSAGE_COUNT_; i++) {
		uint64_t count = counter_read(&s->meter->outcomes[i]);
		const char *name =
		    source_meter_outcome((enum message_outcome)i);
		uint64_t least = tally->outcomes[i];
		bool rests = i == MESSAGE_HELD || i == MESSAGE_RETRIED;
		CHECK(i == MESSAGE_WAITED || (count >= least &&
			count <= least + (rests ? tally->unseen : 0)),
		    "\"%s\" is counted %u times, not %u", name,
		    (unsigned)count, (unsigned)least);
		CHECK(counter_read(&s->meter->dead_letters[i]) ==
			tally->dead_letters[i],
		    "dead letters \"%s\" are miscounted", name);
	}
	CHECK(counter_read(&s->meter->results) == tally->results,
	    "results are miscounted");
}

static void
check_source(const struct gateway *g, const struct source *s)
{
	struct tally *tally = &tallies[g->index];
	struct sums sums = {.tally = tally};
	each_delivery(s, see_delivery, &sums);
	for (unsigned i = 0; i < PLACES; i++)
		if (!sums.here[i]) {
			tally->held_since_ms[i] = 0;
			tally->tries[i] = 0;
		}
	check_counts(s, tally);
	CHECK(s->in_flight + s->resting == s->deliveries.count,
	    "%u in flight and %u that rest are not %u", s->in_flight,
	    s->resting, (unsigned)s->deliveries.count);
	CHECK(s->resting == sums.resting, "%u rest, not %u", sums.resting,
	    s->resting);
	CHECK(s->starving == sums.starving && s->probing == sums.probing,
	    "%u try for all, and %u wait for memory, by its count",
	    s->probing, s->starving);
	CHECK(sums.standing == 0 || timer_is_set(&s->probe) ||
		pause_stands(&s->pause) || s->draining,
	    "what stands still has nobody who tries");
	CHECK(s->reader != NULL || s->deliveries.count == 0,
	    "a message is at work without its reader");
	CHECK(s->standing != 0 || s->draining || s->reader == NULL ||
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
		const struct source *s = source_of(g);
		if (s == NULL || g->stalled || fake_loop_has_work(g->loop))
			continue;
		check_source(g, s);
		check_clean(s);
	}
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

void
messages_check_rest(void)
{
	if (world.scenario->source == NULL)
		return;
	over = true;
	CHECK(fake_broker_is_empty(), "a message is never finished");
	for (unsigned i = 0; i < world.scenario->gateways; i++) {
		const struct source *s = source_of(&world.gateways[i]);
		CHECK(s != NULL && s->deliveries.count == 0,
		    "a delivery never ends");
		CHECK(s->letters == NULL, "a letter is looked for for ever");
		CHECK((s->standing & ~(1u << STANDING_MEMORY)) == 0,
		    "a source stands still for ever: %s",
		    source_standing_word(s->standing));
		CHECK(inquiries[i].op.state != OP_PENDING,
		    "an operator is never answered");
	}
	for (unsigned i = 0; i < MESSAGES_MAX; i++) {
		const char *key = world.scenario->messages[i].key;
		if (key == NULL)
			break;
		CHECK(!acknowledged[i] || may_forget() ||
			!fake_broker_has_letter(i) || world.dropped,
		    "message %u is acknowledged and a dead letter", i + 1);
	}
}

bool
messages_is_acknowledged(unsigned message)
{
	return acknowledged[message];
}

/* --- an operator --- */

static void
on_answered(void *arg)
{
	inquiry_end(arg);
}

void
messages_tell(struct gateway *g, const struct act *act)
{
	struct inquiry_op *op = &inquiries[g->index];
	if (op->op.state == OP_PENDING)
		return;
	op_init(&op->op, g->loop, on_answered, op);
	struct inquiry *inquiry = inquiry_new(op,
	    act->kind == ACT_DROP ? INQUIRY_DROP : INQUIRY_REPLAY);
	inquiry->source = SPAN("s");
	inquiry->position =
	    arena_printf(inquiry->arena, "%u-0", act->message + 1);
	world.dropped |= act->kind == ACT_DROP;
	world.replays += act->kind == ACT_REPLAY;
	inquiry_ask(op, sources_view, &g->worker, 1, ASK_MS);
}

/* --- time --- */

bool
messages_are_ready(const struct gateway *g)
{
	const struct source *s = source_of(g);
	if (s == NULL)
		return true;
	return s->holds.known &&
	    (s->source->order_by == SOURCE_ORDER_NONE ||
		s->source->behind_go_on || parked_is_known(&s->parked));
}

bool
messages_are_boring(const struct gateway *g, const struct timer *timer)
{
	const struct source *s = source_of(g);
	if (s == NULL)
		return false;
	return timer == &s->look ||
	    (timer == &s->leadership.watch.timer &&
		!s->leadership.watch.again) ||
	    (timer == &s->leadership.end && !world.redis_down) ||
	    (timer == &s->probe && s->pause.on) ||
	    (timer == &s->pause.watch.timer && s->pause.known &&
		s->pause.on == world.paused) ||
	    (timer == &s->parked.timer && s->parked.known) ||
	    (timer == &s->holds.timer && s->holds.known);
}

int64_t
messages_beat_ms(void)
{
	int64_t first_ms = 0;
	for (unsigned i = 0; i < world.scenario->gateways; i++) {
		const struct gateway *g = &world.gateways[i];
		const struct source *s = source_of(g);
		if (s == NULL || g->stalled || s->leadership.term == 0 ||
		    !timer_is_set(&s->leadership.watch.timer))
			continue;
		if (first_ms == 0 || s->leadership.watch.timer.at_ms < first_ms)
			first_ms = s->leadership.watch.timer.at_ms;
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

void
messages_lose_leadership(struct gateway *g)
{
	struct source *s = source_of(g);
	redis_seize_leadership();
	timer_set(&s->leadership.watch.timer, 0);
	fake_loop_fire(g->loop);
}

/* --- claims --- */

const struct claim *
messages_claim(const struct gateway *g, const void *owner)
{
	const struct source *s = source_of(g);
	struct machine *m;
	if (s == NULL)
		return NULL;
	LIST_EACH(m, &s->deliveries.list, item) {
		const struct delivery *d = delivery_of(m);
		if (d->c.claim.owner.bytes == owner)
			return &d->c.claim;
	}
	return NULL;
}

/* --- hashing --- */

static uint64_t
hash_op(uint64_t hash, const struct op *op)
{
	return mix(mix(hash, op->state), (uint64_t)(int64_t)op->error);
}

static void
hash_delivery(const struct delivery *d, void *arg)
{
	uint64_t *sum = arg;
	uint64_t hash = mix(3, d->machine.step);
	hash = mix(hash, index_of(d));
	hash = mix_bytes(hash, d->message->letter.ptr, d->message->letter.len);
	hash = hash_op(hash, &d->place.turn);
	hash = hash_op(hash, &d->gate);
	hash = hash_op(hash, &d->rest);
	hash = hash_op(hash, &d->park.op.op);
	hash = hash_op(hash, &d->hold.op.op);
	hash = mix(hash, (uint64_t)d->noted << 1 | d->recalled);
	hash = hash_op(hash, &d->finish.op);
	hash = hash_op(hash, &d->release.op.op);
	hash = hash_op(hash, &d->waiter.op);
	hash = mix(hash, d->park.op.verdict);
	hash = mix(hash, d->finish.finished);
	hash = mix(hash, (uint64_t)d->parked << 9 | (uint64_t)d->busy << 8 |
	    (uint64_t)d->whole << 7 | (uint64_t)d->probe << 6 |
	    (uint64_t)d->resting << 5 | (uint64_t)d->starving << 4 |
	    (uint64_t)d->drop << 3 | (uint64_t)d->behind << 2 |
	    (uint64_t)d->decided << 1 | d->released);
	hash = mix(hash, (uint64_t)(d->asked != NULL) << 4 |
	    (uint64_t)(d->dropped != NULL) << 3 |
	    (uint64_t)d->buried << 2 | (uint64_t)d->waiter.heard << 1 |
	    (d->waiter.waiters != NULL));
	hash = mix(hash, d->tries);
	hash = mix(hash, (uint64_t)d->held_since_ms);
	hash = mix(hash, (uint64_t)d->outcome << 8 | d->reason);
	if (d->c.arena != NULL) {
		hash = hash_op(hash, &d->c.claim_op.op);
		hash = mix(hash, d->c.claim_op.verdict);
		hash = mix_bytes(hash, d->c.claim.owner.bytes,
		    sizeof d->c.claim.owner.bytes);
		hash = hash_op(hash, &d->c.join);
		hash = mix(hash, (uint64_t)d->c.outcome << 2 |
		    (uint64_t)d->c.stored << 1 | (d->c.execution != NULL));
	}
	*sum += hash;
}

uint64_t
messages_hash(const struct gateway *g)
{
	const struct source *s = source_of(g);
	uint64_t sum = 0;
	if (s == NULL)
		return 0;
	each_delivery(s, hash_delivery, &sum);
	uint64_t hash = mix(sum, (uint64_t)s->in_flight << 32 | s->resting);
	hash = mix(hash, (uint64_t)s->starving << 32 | s->credit);
	hash = mix(hash, (uint64_t)s->standing << 32 | s->told);
	hash = mix(hash, (uint64_t)s->unsent << 32 | s->probing);
	hash = mix(hash, (uint64_t)s->probe_ms);
	hash = mix(hash, (uint64_t)s->draining << 1 | (s->reader != NULL));
	hash = mix(hash, (uint64_t)s->leadership.until_us);
	hash = mix(hash, (uint64_t)(s->leadership.term != 0) << 2 |
	    (uint64_t)(s->leadership.watch.call != NULL) << 1 |
	    s->leadership.watch.again);
	hash = mix(hash, (uint64_t)s->pause.known << 3 |
	    (uint64_t)s->pause.on << 2 |
	    (uint64_t)(s->pause.watch.call != NULL) << 1 |
	    s->pause.watch.again);
	hash = mix(hash, (uint64_t)s->parked.known << 2 |
	    (uint64_t)(s->parked.call != NULL) << 1 | s->parked.again);
	if (s->parked.lanes.count > 0)
		hash = mix_bytes(hash, s->parked.lanes.list,
		    s->parked.lanes.count * sizeof *s->parked.lanes.list);
	hash = mix(hash, (uint64_t)s->holds.names.count << 3 |
	    (uint64_t)s->holds.known << 2 |
	    (uint64_t)(s->holds.call != NULL) << 1 | s->holds.again);
	hash = mix(hash, s->letters != NULL);
	hash = mix_bytes(hash, executed, sizeof executed);
	hash = mix_bytes(hash, acknowledged, sizeof acknowledged);
	return hash_op(hash, &inquiries[g->index].op);
}
