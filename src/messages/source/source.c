/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/mem.h"
#include "messages/brokers.h"
#include "messages/source/delivery.h"
#include "messages/source/replay.h"
#include "messages/source/restore.h"
#include "messages/source/source_credit.h"
#include "messages/source/source_floor.h"
#include "messages/source/source_leadership.h"
#include "messages/source/source_pause.h"
#include "messages/source/source_probe.h"
#include "messages/source/source_proof.h"
#include "messages/source/source_standing.h"

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
	if (s->draining) {
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
	s->wanted = 0; /* it may have been that one */
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
	s->wanted = 0;
	LIST_EACH(m, &s->deliveries.list, item)
		if (delivery_of(m)->message->token == token)
			machine_end(m);
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
	/* Another's lanes are ours now, perhaps, and what it was at. */
	if (counter_read(&s->meter->rebalances) != health.rebalances) {
		source_proof_rebalanced(s);
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
    .origin = source_proof_origin,
    .floor_wanted = source_floor_wanted,
    .floor = source_floor_reached,
    .unproven = source_floor_unproven,
    .transacted = on_transacted,
};

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
	int64_t bytes = BODY_KEPT_MAX, most = conf->in_flight_bytes / 4;
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_idempotency *policy =
		    conf->routes[i].idempotency;
		if (policy != NULL && policy->max_request_body > bytes)
			bytes = policy->max_request_body;
	}
	return (size_t)(bytes < most ? bytes : most);
}

/* Which store it is stands beside what is read: it must be known. */
static void
open_reader(struct source *s)
{
	source_proof_look(s);
	if (s->reader != NULL || s->draining || s->store_id[0] == '\0' ||
	    !source_leadership_lets_begin(s))
		return;
	struct broker_events mine = events;
	mine.arg = s;
	const struct broker_start start = {
	    .loop = s->worker->loop,
	    .conf = s->conf,
	    .source = s->source,
	    .instance = s->worker->conf->instance,
	    .store_id = span_str(s->store_id),
	    .lease_ms = longest_lease_ms(s->conf),
	    .most_bytes = longest_body(s->conf),
	    .sole = source_leadership_is_needed(s),
	    .events = &mine,
	};
	counter_set(&s->meter->transacts,
	    s->source->broker->kind == BROKER_KAFKA);
	s->reader = brokers_open(&start);
	s->credit = 0;
	s->wanted = 0;
	s->heard = false;
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

static void
on_gained(void *arg)
{
	struct source *s = arg;
	if (s->draining)
		return;
	letters_load(&s->letters);
	open_reader(s);
}

static void
end_replays(struct source *s)
{
	struct machine *m;
	LIST_EACH(m, &s->replays.list, item)
		machine_end(m);
}

/* Somebody else reads it from now on: all is given back at once. */
static void
on_leadership_lost(void *arg)
{
	struct source *s = arg;
	end_deliveries(s, true);
	end_replays(s);
	restore_free(&s->restore);
	broker_reader_close(&s->reader);
	s->credit = 0;
	counter_set(&s->meter->up, 1);
}

/* --- letters --- */

static void
on_letters(void *arg)
{
	struct source *s = arg;
	counter_set(&s->meter->parked, letters_count(&s->letters).parked);
	open_reader(s);
	source_standing_look(s);
	source_credit_settle(s);
}

static void
replay(struct source *s, const struct letter_name *name, enum replay_act act)
{
	if (!source_credit_may_replay(s))
		return;
	if (s->replays.count >= (unsigned)s->source->in_flight)
		s->left = true;
	else
		replay_new(s, name, act);
}

static void
on_left(void *arg, const struct letter_name *name, enum letter_act act)
{
	replay(arg, name,
	    act == LETTER_DROP ? REPLAY_TO_DROP : REPLAY_TO_EXECUTE);
}

/* Those that are about to be acknowledged here do that themselves. */
static void
on_unconfirmed(void *arg, const struct letter_name *name)
{
	struct source *s = arg;
	struct machine *m;
	LIST_EACH(m, &s->deliveries.list, item) {
		const struct delivery *d = delivery_of(m);
		if ((d->buried || d->was_letter) &&
		    !memcmp(d->letter.name.id, name->id, sizeof name->id))
			return;
	}
	replay(s, name, REPLAY_TO_CONFIRM);
}

static void
share(struct source *s)
{
	static const struct leadership_events leadership_events = {
	    on_gained, on_leadership_lost, NULL};
	struct store *store = s->worker->store;
	struct loop *loop = s->worker->loop;
	const struct letters_events letters_events = {
	    on_letters, on_left, on_unconfirmed, s};
	struct leadership_events mine = leadership_events;
	mine.arg = s;
	source_pause_start(s);
	source_floor_start(s);
	letters_start(
	    &s->letters, store, loop, s->source->name, &letters_events);
	/* Who waits, to lead or for the store, asks nothing of the broker. */
	counter_set(&s->meter->up, 1);
	if (source_leadership_is_needed(s))
		leadership_start(&s->leadership, store, loop, "source",
		    s->source->name, &mine);
	else
		open_reader(s);
}

/* --- its life --- */

/* Memory may have become free, and what waits is counted. */
static void
on_second(void *arg)
{
	struct source *s = arg;
	uint64_t counts[MESSAGE_STATES_] = {0}, oldest = s->taken;
	struct machine *m;
	LIST_EACH(m, &s->deliveries.list, item) {
		struct delivery *d = delivery_of(m);
		counts[delivery_view_state(d)]++;
		if (d->number - 1 < oldest)
			oldest = d->number - 1;
	}
	counter_set(&s->meter->held, counts[MESSAGE_STATE_HELD]);
	counter_set(&s->meter->retrying, counts[MESSAGE_STATE_RETRYING]);
	counter_set(
	    &s->meter->gap, s->taken - oldest - s->deliveries.count);
	source_proof_look(s);
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
	s->worker = worker;
	s->conf = conf_ref(conf);
	s->source = source;
	s->meter = meter;
	s->lanes = lanes_new();
	list_init(&s->deliveries.list);
	list_init(&s->replays.list);
	source_standing_init(s);
	source_probe_init(s);
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
	end_replays(s);
	restore_free(&s->restore);
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
	end_replays(s);
	restore_free(&s->restore);
	broker_reader_close(&s->reader);
	leadership_stop(&s->leadership);
	letters_stop(&s->letters);
	source_pause_stop(s);
	source_floor_stop(s);
	timer_clear(&s->probe);
	timer_clear(&s->look);
	task_cancel(&s->settle);
	key_set_clear(&s->sent);
	lanes_free(&s->lanes);
	counter_set(&s->meter->standing, 0);
	counter_set(&s->meter->in_flight, 0);
	counter_set(&s->meter->present, 0);
	conf_unref(&s->conf);
	free(s);
}
