/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/mem.h"
#include "messages/broker/broker_clients.h"
#include "messages/source/delivery.h"
#include "messages/source/source_credit.h"
#include "messages/source/source_floor.h"
#include "messages/source/source_letters.h"
#include "messages/source/source_pause.h"
#include "messages/source/source_standing.h"

enum {
	LOOK_MS = 1000,
	DRAIN_MS = 5000, /* for acknowledgements that are on their way */
	LEASE_LEAST_MS = 1000,
	BODY_KEPT_MAX = 16 * 1024 * 1024,
};

/*
 * One gateway at a time reads it: a stream with an order, and a table that is
 * ordered by what its rows are not parted by.  The partitions of Kafka are
 * given to one reader each by their group.
 */
static bool
needs_turn(const struct conf_source *source)
{
	return source->order_by != SOURCE_ORDER_NONE &&
	    source->broker->kind != BROKER_KAFKA &&
	    (source->table == NULL ||
		source->order_by != SOURCE_ORDER_ENTITY);
}

static bool
parks(const struct conf_source *source)
{
	return source->order_by != SOURCE_ORDER_NONE && !source->behind_go_on;
}

/* --- what the broker says --- */

static void
on_took(void *arg, struct broker_message *message)
{
	struct source *s = arg;
	if (s->draining) {
		broker_reader_give_back(s->reader, message);
		broker_message_free(&message);
		return;
	}
	if (s->credit > 0)
		s->credit--;
	s->in_flight++;
	if (message->time_ms >= 0)
		histogram_add(&s->meter->age,
		    clock_wall_ms() - message->time_ms);
	source_credit_settle(s);
	s->taken++;
	delivery_new(s, message);
	source_credit_took(s);
}

/* The delivery of what stood there, if it is here. */
static struct machine *
delivery_at(const struct source *s, struct span position)
{
	struct machine *m;
	LIST_EACH(m, &s->deliveries.list, item)
		if (delivery_of(m)->message->letter.len == 0 &&
		    span_eq(delivery_of(m)->message->position, position))
			return m;
	return NULL;
}

static void
on_lost(void *arg, enum broker_loss how, uint64_t count, struct span position)
{
	struct source *s = arg;
	counter_add(&s->meter->lost[how], count);
	struct machine *m = position.len > 0 ? delivery_at(s, position) : NULL;
	if (position.len > 0 && holds_may(&s->holds, position))
		holds_drop(&s->holds, position);
	if (m != NULL)
		machine_end(m);
}

/* Others have them now, or they come again: nothing of them is told. */
static void
on_recalled(void *arg, const void *token)
{
	struct source *s = arg;
	struct machine *m;
	LIST_EACH(m, &s->deliveries.list, item) {
		const struct broker_message *message = delivery_of(m)->message;
		if (message->token == token && message->letter.len == 0)
			machine_end(m);
	}
	/* Their stream is another one, which may have the same ids. */
	if (s->source->broker->kind == BROKER_STREAMS)
		key_set_clear(&s->sent);
}

static void
on_health(void *arg)
{
	struct source *s = arg;
	struct broker_health health = broker_reader_health(s->reader);
	counter_set(&s->meter->up, health.up);
	counter_set(&s->meter->parts_standing, health.parts_standing);
	counter_set(&s->meter->lag,
	    health.lag >= 0 ? (uint64_t)health.lag : SOURCE_METER_NO_LAG);
	/* Another's lanes are ours now, perhaps, and what it holds. */
	if (counter_read(&s->meter->rebalances) != health.rebalances) {
		holds_load(&s->holds);
		if (parks(s->source) && !needs_turn(s->source))
			parked_load(&s->parked);
	}
	counter_set(&s->meter->rebalances, health.rebalances);
	if (health.up && !health.stands)
		source_standing_end(s, STANDING_BROKER);
	else if (health.message[0] != '\0') /* else it has just begun */
		source_standing_begin(s, STANDING_BROKER, health.message);
}

static void
on_transacted(void *arg, enum broker_transaction how)
{
	struct source *s = arg;
	counter_add(&s->meter->transactions[how], 1);
}

static const struct broker_events events = {
    .took = on_took,
    .lost = on_lost,
    .changed = on_health,
    .recalled = on_recalled,
    .floor_wanted = source_floor_wanted,
    .floor = source_floor_reached,
    .rewound = source_floor_rewound,
    .transacted = on_transacted,
};

/*
 * Whoever reads a message that was held within that time finds it held; its
 * record would be forgotten then, too.
 */
static int64_t
holds_keep_ms(const struct conf *conf, const struct conf_source *source)
{
	int64_t ms = 0;
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_idempotency *policy =
		    conf->routes[i].idempotency;
		if (policy != NULL && policy->unknown_retention_ms > ms)
			ms = policy->unknown_retention_ms;
	}
	return ms + source->hold_ms;
}

/* The longest lease of all routes: a message that idles for twice that has
 * nobody at work on it. */
static int64_t
longest_lease_ms(const struct conf *conf)
{
	int64_t ms = LEASE_LEAST_MS;
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_idempotency *policy =
		    conf->routes[i].idempotency;
		if (policy != NULL && policy->lease_ms > ms)
			ms = policy->lease_ms;
	}
	return ms;
}

/*
 * The longest message that is read: what no route would take is put to the dead
 * letters whole, up to a quarter of all memory.
 */
static size_t
longest_body(const struct conf *conf)
{
	int64_t bytes = conf->in_flight_bytes / 4;
	if (bytes > BODY_KEPT_MAX)
		bytes = BODY_KEPT_MAX;
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_idempotency *policy =
		    conf->routes[i].idempotency;
		if (policy != NULL && policy->max_request_body > bytes)
			bytes = policy->max_request_body;
	}
	return (size_t)bytes;
}

static void
open_reader(struct source *s)
{
	struct broker_events mine = events;
	mine.arg = s;
	const struct broker_start start = {
	    .loop = s->worker->loop,
	    .conf = s->conf,
	    .source = s->source,
	    .instance = s->worker->conf->instance,
	    .lease_ms = longest_lease_ms(s->conf),
	    .most_bytes = longest_body(s->conf),
	    .sole = needs_turn(s->source),
	    .events = &mine,
	};
	counter_set(&s->meter->transacts,
	    s->source->broker->kind == BROKER_KAFKA);
	s->reader = broker_clients_open(&start);
	s->credit = 0;
	source_credit_settle(s);
}

/* --- what gateways share --- */

/* All but, perhaps, those whose acknowledgement is on its way. */
static void
end_deliveries(struct source *s, bool finishing_too)
{
	struct machine *m;
	LIST_EACH(m, &s->deliveries.list, item)
		if (finishing_too || !delivery_is_finishing(m))
			machine_end(m);
}

const struct turn *
source_turn(const struct source *s)
{
	return needs_turn(s->source) ? &s->turn : NULL;
}

bool
source_may_begin(const struct source *s)
{
	const struct turn *turn = source_turn(s);
	return turn == NULL || turn_is_held(turn);
}

static void
on_gained(void *arg)
{
	struct source *s = arg;
	if (s->draining)
		return;
	holds_load(&s->holds);
	if (parks(s->source))
		parked_load(&s->parked);
	open_reader(s);
}

/* Somebody else reads it from now on: all is given back at once. */
static void
on_turn_lost(void *arg)
{
	struct source *s = arg;
	end_deliveries(s, true);
	source_letters_stop(s);
	source_dead_stop(s);
	broker_reader_close(&s->reader);
	s->credit = 0;
	counter_set(&s->meter->up, 1);
}

static void
on_parked(void *arg)
{
	struct source *s = arg;
	counter_set(&s->meter->parked, parked_count(&s->parked));
	source_credit_settle(s);
}

/* Whoever had the source before was about to bring a lane back. */
static void
on_decided(void *arg, const struct parked_entry *entry)
{
	struct parked_lane lane;
	memcpy(lane.bytes, entry->lane, sizeof lane.bytes);
	source_letters_bring(arg, &lane, entry->first,
	    span_eq(entry->decided, SPAN("drop")));
}

static void
share(struct source *s)
{
	static const struct turn_events turn_events = {
	    on_gained, on_turn_lost, NULL};
	struct store *store = s->worker->store;
	struct loop *loop = s->worker->loop;
	const struct parked_events parked_events = {
	    on_parked, on_decided, s};
	struct turn_events mine = turn_events;
	mine.arg = s;
	source_pause_start(s);
	source_floor_start(s);
	holds_start(&s->holds, store, loop, "source", s->source->name,
	    s->source->hold_ms, holds_keep_ms(s->conf, s->source));
	if (parks(s->source))
		parked_start(&s->parked, store, loop, "source",
		    s->source->name, &parked_events);
	/* Who waits for a turn asks nothing of the broker. */
	counter_set(&s->meter->up, needs_turn(s->source));
	if (needs_turn(s->source))
		turn_start(&s->turn, store, loop, "source", s->source->name,
		    &mine);
	else
		open_reader(s);
}

/* --- its life --- */

/* Memory may have become free, and what waits is counted. */
static void
on_second(void *arg)
{
	struct source *s = arg;
	struct machine *m;
	uint64_t counts[MESSAGE_STATES_] = {0}, oldest = s->taken;
	LIST_EACH(m, &s->deliveries.list, item) {
		struct delivery *d = delivery_of(m);
		delivery_memory_look(d);
		counts[delivery_view_state(d)]++;
		if (d->number - 1 < oldest)
			oldest = d->number - 1;
	}
	counter_set(&s->meter->held, counts[MESSAGE_STATE_HELD]);
	counter_set(&s->meter->retrying, counts[MESSAGE_STATE_RETRYING]);
	counter_set(&s->meter->parked, parked_count(&s->parked));
	counter_set(
	    &s->meter->gap, s->taken - oldest - s->deliveries.count);
	source_standing_look(s);
	source_credit_settle(s);
	timer_set(&s->look, LOOK_MS);
}

struct source *
source_new(struct worker *worker, const struct conf *conf,
    const struct conf_source *source, struct source_meter *meter)
{
	struct source *s = mem_zero(sizeof *s);
	list_init(&s->deliveries.list);
	s->worker = worker;
	s->conf = conf_ref(conf);
	s->source = source;
	s->meter = meter;
	s->lanes = lanes_new();
	source_standing_init(s);
	timer_init(&s->look, worker->loop, on_second, s);
	source_credit_init(s);
	counter_set(&meter->present, 1);
	timer_set(&s->look, LOOK_MS);
	share(s);
	return s;
}

void
source_drain(struct source *s)
{
	if (s->draining)
		return;
	s->draining = true;
	s->drained_ms = loop_now_ms(s->worker->loop) + DRAIN_MS;
	end_deliveries(s, false);
	source_letters_stop(s);
	source_dead_stop(s);
	source_credit_settle(s);
}

/* Its broker knows what is finished, and Redis how far. */
static bool
is_told(struct source *s)
{
	if (s->reader != NULL && !s->telling)
		broker_reader_tell(s->reader);
	s->telling = true;
	return (s->reader == NULL || broker_reader_is_told(s->reader)) &&
	    floors_are_kept(&s->floors);
}

bool
source_is_drained(struct source *s)
{
	bool late = loop_now_ms(s->worker->loop) >= s->drained_ms;
	/* What the broker did not take is given back as well. */
	end_deliveries(s, late);
	return s->deliveries.count == 0 && (late || is_told(s));
}

void
source_free(struct source **source)
{
	struct source *s = *source;
	*source = NULL;
	if (s == NULL)
		return;
	end_deliveries(s, true);
	source_letters_stop(s);
	source_dead_stop(s);
	broker_reader_close(&s->reader);
	turn_stop(&s->turn);
	parked_stop(&s->parked);
	source_pause_stop(s);
	source_floor_stop(s);
	holds_stop(&s->holds);
	timer_clear(&s->probe);
	timer_clear(&s->look);
	task_cancel(&s->settle);
	key_set_clear(&s->sent);
	key_set_clear(&s->firsts);
	lanes_free(&s->lanes);
	counter_set(&s->meter->standing, 0);
	counter_set(&s->meter->in_flight, 0);
	counter_set(&s->meter->present, 0);
	conf_unref(&s->conf);
	free(s);
}
