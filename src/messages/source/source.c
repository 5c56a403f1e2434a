/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "messages/brokers.h"
#include "messages/source/delivery.h"
#include "messages/source/restore.h"
#include "messages/source/source_credit.h"
#include "messages/source/source_proof.h"
#include "messages/source/source_standing.h"
#include "store/identity.h"

enum {
	LOOK_MS = 1000,
	DRAIN_MS = 5000, /* for acknowledgements that are on their way */
	LEASE_LEAST_MS = 1000,
	BODY_KEPT_MAX = 16 * 1024 * 1024,
};

/* --- what the broker says --- */

static bool
on_took(void *arg, struct broker_message *message)
{
	struct source *s = arg;
	if (s->member.draining) {
		broker_reader_give_back(s->reader, message);
		broker_message_free(&message);
		return true;
	}
	if (!source_credit_take(s, message->bytes))
		return false;
	if (message->time_ms >= 0)
		histogram_add(&s->meter->age,
		    clock_wall_ms() - message->time_ms);
	delivery_new(s, message);
	return true;
}

static void
on_lost(void *arg, enum broker_loss how, uint64_t count, struct span position)
{
	struct source *s = arg;
	counter_add(&s->meter->lost[how], count);
	struct delivery *d =
	    position.len > 0 ? delivery_find(s, position) : NULL;
	/* What becomes a letter does so: its lane is parked by that. */
	if (d != NULL && !d->burying)
		machine_end(&d->machine);
}

/* Others have them now, or they come again: nothing of them is told. */
static void
on_recalled(void *arg, const void *token)
{
	struct source *s = arg;
	struct machine *m;
	LIST_EACH(m, &s->deliveries.list, item)
		if (delivery_of(m)->message->token == token)
			machine_end(m);
}

static void
on_health(void *arg)
{
	struct source *s = arg;
	struct broker_health health = broker_reader_health(s->reader);
	/* Another may have what it waited for, or it comes anew. */
	if (s->wanted > 2 * health.next_bytes) {
		s->wanted = 2 * health.next_bytes;
		source_credit_settle(s);
	}
	counter_set(&s->meter->up, health.up);
	counter_set(&s->meter->parts_standing, health.parts_standing);
	counter_set(&s->meter->lag,
	    health.lag >= 0 ? (uint64_t)health.lag : SOURCE_METER_NO_LAG);
	/* Another's lanes are ours now, perhaps, and what it was at. */
	if (counter_read(&s->meter->rebalances) != health.rebalances) {
		s->origin_us = clock_us(); /* the store is asked anew */
		letters_load(&s->letters);
	}
	counter_set(&s->meter->rebalances, health.rebalances);
	if (health.no_order)
		source_standing_begin(s, STANDING_ORDER, health.message);
	else
		source_standing_end(s, STANDING_ORDER);
	if (health.unproven)
		source_standing_begin(s, STANDING_UNPROVEN, health.message);
	else if (!source_proof_is_doubted(s))
		source_standing_end(s, STANDING_UNPROVEN);
	if (health.up && (!health.stands || health.unproven))
		source_standing_end(s, STANDING_BROKER);
	else if (health.message[0] != '\0' && !health.no_order)
		/* else it has just begun */
		source_standing_begin(s, STANDING_BROKER, health.message);
}

/* The floors of its parts (shared/floors.h), between its reader and Redis. */
static void
on_floor_wanted(void *arg, const char *part, bool unproven)
{
	struct source *s = arg;
	floors_due(&s->floors, part, unproven ? FLOORS_STAND : FLOORS_LOOK);
}

static void
on_floor(void *arg, const char *part, struct span floor, bool anew)
{
	struct source *s = arg;
	floors_keep(&s->floors, part, floor, anew);
}

/* The most that any route says: what a source leads to is not known before. */
static void
set_bounds(const struct conf *conf, struct broker_start *start)
{
	int64_t lease_ms = LEASE_LEAST_MS, body_bytes = BODY_KEPT_MAX;
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_idempotency *policy =
		    conf->routes[i].idempotency;
		if (policy != NULL && policy->lease_ms > lease_ms)
			lease_ms = policy->lease_ms;
		if (policy != NULL && policy->max_request_body > body_bytes)
			body_bytes = policy->max_request_body;
	}
	/* What no route would take is put to the dead letters whole. */
	if (body_bytes > conf->in_flight_bytes / 4)
		body_bytes = conf->in_flight_bytes / 4;
	start->lease_ms = lease_ms;
	start->most_bytes = (size_t)body_bytes;
}

/* Which store it is stands beside what is read: it must be known. */
static void
open_reader(struct source *s)
{
	source_proof_look(s);
	if (s->reader != NULL || s->member.draining ||
	    s->store_id[0] == '\0' || !source_standing_lets_begin(s))
		return;
	const struct broker_events events = {
	    .took = on_took,
	    .lost = on_lost,
	    .changed = on_health,
	    .recalled = on_recalled,
	    .origin = source_proof_origin,
	    .floor_wanted = on_floor_wanted,
	    .floor = on_floor,
	    .transactions = s->meter->transactions,
	    .arg = s,
	};
	struct broker_start start = {
	    .loop = s->worker->loop,
	    .conf = s->conf,
	    .source = s->source,
	    .instance = s->worker->conf->instance,
	    .store_id = span_str(s->store_id),
	    .sole = source_standing_has_one_reader(s),
	    .events = &events,
	};
	set_bounds(s->conf, &start);
	counter_set(&s->meter->transacts,
	    s->source->broker->kind == BROKER_KAFKA);
	s->reader = brokers_open(&start);
	s->credit = 0;
	s->wanted = 0;
	s->heard = false;
	source_credit_settle(s);
}

/* --- what gateways share --- */

/* All but, perhaps, those that only wait to hear that they have ended. */
static void
give_up(struct source *s, bool finishing_too)
{
	struct machine *m;
	LIST_EACH(m, &s->deliveries.list, item)
		if (finishing_too || !delivery_is_ending(m))
			machine_end(m);
	LIST_EACH(m, &s->replays.list, item)
		if (finishing_too || !delivery_is_ending(m))
			machine_end(m);
	restore_free(&s->restore);
}

static void
on_gained(void *arg)
{
	struct source *s = arg;
	if (s->member.draining)
		return;
	letters_load(&s->letters);
	open_reader(s);
}

/* Somebody else reads it from now on: all is given back at once. */
static void
on_leadership_lost(void *arg)
{
	struct source *s = arg;
	give_up(s, true);
	broker_reader_close(&s->reader);
	s->credit = 0;
	counter_set(&s->meter->up, 1);
}

/* --- letters --- */

static void
on_letters(void *arg)
{
	struct source *s = arg;
	counter_set(&s->meter->parked, s->letters.parked);
	open_reader(s);
	/* At the start the answer about the pause may be the next one. */
	if (s->pause.known)
		source_standing_look(s);
	source_credit_settle(s);
}

/* Those that are about to be acknowledged here do that themselves. */
static void
on_left(void *arg, const struct letter_name *name, enum letter_act act)
{
	struct source *s = arg;
	struct machine *m;
	if (!source_credit_may_replay(s))
		return;
	if (act == LETTER_ACKNOWLEDGE)
		LIST_EACH(m, &s->deliveries.list, item) {
			const struct delivery *d = delivery_of(m);
			if ((d->buried || d->was_letter) &&
			    !memcmp(d->letter.name.id, name->id,
				sizeof name->id))
				return;
		}
	if (s->replays.count >= (unsigned)s->source->in_flight)
		s->left = true;
	else
		delivery_replay_new(s, name, act);
}

static void
on_known(
    void *arg, const char *part, struct span floor, struct span decided)
{
	struct source *s = arg;
	if (strcmp(part, "store") == 0) {
		source_proof_accepted(s, floor);
		return;
	}
	enum broker_decision decision =
	    span_eq(decided, SPAN("resume"))   ? BROKER_RESUME
	    : span_eq(decided, SPAN("rewind")) ? BROKER_REWIND
					       : BROKER_UNDECIDED;
	if (s->reader != NULL)
		broker_reader_floor(s->reader, part, floor, decision);
}

/* While it stands still, one delivery at a time tries for all others. */
static void
on_probe(void *arg)
{
	struct source *s = arg;
	struct machine *m;
	bool retries = false, finishes = false;
	LIST_EACH(m, &s->deliveries.list, item) {
		retries |= delivery_view_state(delivery_of(m)) ==
		    MESSAGE_STATE_RETRYING;
		finishes |= delivery_is_finishing(m);
	}
	LIST_EACH(m, &s->replays.list, item)
		retries |= delivery_view_state(delivery_of(m)) ==
		    MESSAGE_STATE_RETRYING;
	source_standing_probe(s, retries, finishes);
}

/* --- its life --- */

/* Memory may have become free, and what waits is counted. */
static void
on_second(void *arg)
{
	struct source *s = arg;
	uint64_t counts[MESSAGE_STATES_], oldest = s->taken;
	struct machine *m;
	delivery_count_states(s, counts);
	LIST_EACH(m, &s->deliveries.list, item)
		if (delivery_of(m)->number - 1 < oldest)
			oldest = delivery_of(m)->number - 1;
	counter_set(&s->meter->held, counts[MESSAGE_STATE_HELD]);
	counter_set(&s->meter->retrying, counts[MESSAGE_STATE_RETRYING]);
	counter_set(
	    &s->meter->gap, s->taken - oldest - s->deliveries.count);
	open_reader(s);
	source_standing_look(s);
	source_credit_settle(s);
	timer_set(&s->look, LOOK_MS);
}

struct source *
source_new(struct worker *worker, const struct conf *conf,
    const struct conf_source *source, struct source_meter *meter)
{
	struct source *s = mem_zero(sizeof *s);
	struct store *store = worker->store;
	struct loop *loop = worker->loop;
	const char *name = source->name;
	const struct leadership_events leadership_events = {
	    on_gained, on_leadership_lost, s};
	const struct letters_events letters_events = {
	    on_letters, on_left, s};
	const struct pause_events pause_events = {
	    EV_source_paused, EV_source_resumed, source_standing_paused, s};
	s->worker = worker;
	s->conf = conf_ref(conf);
	s->source = source;
	s->meter = meter;
	list_init(&s->deliveries.list);
	list_init(&s->replays.list);
	s->api_standing = STANDING_COUNT_;
	list_init(&s->waiting);
	timer_init(&s->probe, loop, on_probe, s);
	timer_init(&s->look, loop, on_second, s);
	s->settle = (struct task){.run = source_credit_settled, .arg = s};
	s->prove = (struct task){.run = identity_ask, .arg = store};
	counter_set(&meter->present, 1);
	timer_set(&s->look, LOOK_MS);
	pause_start(&s->pause, store, loop, "source", name, &pause_events);
	floors_start(&s->floors, store, loop, name, on_known, s);
	letters_start(&s->letters, store, loop, name, &letters_events);
	/* Who waits, to lead or for the store, asks nothing of the broker. */
	counter_set(&meter->up, 1);
	if (source_standing_has_one_reader(s))
		leadership_start(&s->leadership, store, loop, "source", name,
		    &leadership_events);
	else
		open_reader(s);
	return s;
}

void
source_drain(struct part_member *member)
{
	struct source *s = CONTAINER_OF(member, struct source, member);
	s->drained_ms = loop_now_ms(s->worker->loop) + DRAIN_MS;
	give_up(s, false);
	source_credit_settle(s);
}

bool
source_is_drained(struct part_member *member)
{
	struct source *s = CONTAINER_OF(member, struct source, member);
	bool late = loop_now_ms(s->worker->loop) >= s->drained_ms;
	/* What the broker did not take is given back as well. */
	give_up(s, late);
	unsigned left = s->deliveries.count + s->replays.count;
	if (left > 0 || late)
		return left == 0;
	/* Its broker is told what is finished, and Redis how far. */
	return (s->reader == NULL || broker_reader_tell(s->reader)) &&
	    floors_are_kept(&s->floors);
}

void
source_free(struct part_member *member)
{
	struct source *s = CONTAINER_OF(member, struct source, member);
	give_up(s, true);
	broker_reader_close(&s->reader);
	leadership_stop(&s->leadership);
	letters_stop(&s->letters);
	pause_stop(&s->pause);
	floors_stop(&s->floors);
	timer_clear(&s->probe);
	timer_clear(&s->look);
	task_cancel(&s->settle);
	task_cancel(&s->prove);
	must(s->lanes.count == 0);
	hash_free(&s->lanes);
	counter_set(&s->meter->standing, 0);
	counter_set(&s->meter->in_flight, 0);
	counter_set(&s->meter->present, 0);
	conf_unref(&s->conf);
	free(s);
}
