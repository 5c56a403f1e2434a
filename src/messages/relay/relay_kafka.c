/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/hex.h"
#include "base/mem.h"
#include "messages/broker/kafka/kafka_ledger.h"
#include "messages/relay/relay_kafka.h"
#include "messages/relay/relay_text.h"

struct relay_kafka {
	struct relay_target target; /* first */
	struct relay_target_events events;
	struct kafka_ledger *ledger;
	struct relay_batch *batch; /* that is put; NULL: none */
	unsigned shards;
};

static void
is_opened(void *arg, const struct kafka_ledger_place *places)
{
	struct relay_kafka *k = arg;
	struct relay_position *marks = mem_zero(k->shards * sizeof *marks);
	size_t n_marks = 0;
	for (unsigned i = 0; i < k->shards; i++)
		if (places[i].known)
			marks[n_marks++] = (struct relay_position){i,
			    places[i].ms, places[i].seq, places[i].count};
	k->events.opened(k->events.arg, marks, n_marks);
	free(marks);
}

static void
is_other(void *arg)
{
	struct relay_kafka *k = arg;
	k->events.changed(k->events.arg);
}

static void
is_fenced(void *arg)
{
	struct relay_kafka *k = arg;
	k->events.fenced(k->events.arg);
}

static void
is_there(void *arg)
{
	struct relay_kafka *k = arg;
	struct relay_batch *batch = k->batch;
	k->batch = NULL;
	if (op_pending(&batch->op))
		op_done(&batch->op, 0);
}

/* --- the target --- */

static struct relay_target *
open_topic(const struct relay_target_start *start)
{
	struct relay_kafka *k = mem_zero(sizeof *k);
	const struct kafka_ledger_events events = {
	    is_opened, is_other, is_fenced, is_there, k};
	char store[DIGEST_HEX + 1];
	hex_encode(store_origin(start->worker->store)->id, DIGEST_BYTES,
	    store);
	k->target.kind = &relay_kafka_kind;
	k->events = *start->events;
	k->shards = (unsigned)start->worker->conf->store.shards;
	const struct kafka_ledger_start ledger = {
	    .loop = start->worker->loop,
	    .broker = start->relay->broker,
	    .conf = start->conf,
	    .topic = start->relay->topic,
	    .store = span_str(store),
	    .relay = start->relay->name,
	    .turn = start->term,
	    .shards = k->shards,
	    .events = &events,
	};
	k->ledger = kafka_ledger_open(&ledger);
	return &k->target;
}

static struct relay_kafka *
kafka_of(struct relay_target *target)
{
	return (struct relay_kafka *)(void *)target;
}

static struct kafka_ledger_message
ledger_message(struct arena *arena, const struct relay_event *event)
{
	struct kafka_ledger_message message = {
	    .key = arena_dup(arena, event->key_id),
	    .value = relay_text_event(arena, event)};
	if (event->answer != NULL) {
		struct relay_event less = *event;
		less.answer = NULL;
		message.less = relay_text_event(arena, &less);
	}
	return message;
}

static struct kafka_ledger_batch *
copy_of(const struct relay_batch *batch, unsigned shards)
{
	struct arena *arena = arena_new();
	struct kafka_ledger_batch *copy = arena_alloc(arena, sizeof *copy);
	copy->arena = arena;
	copy->count = batch->n_events;
	copy->messages =
	    arena_alloc(arena, batch->n_events * sizeof *copy->messages);
	copy->places = arena_alloc(arena, shards * sizeof *copy->places);
	for (size_t i = 0; i < batch->n_events; i++)
		copy->messages[i] = ledger_message(arena, &batch->events[i]);
	for (size_t i = 0; i < batch->n_positions; i++) {
		const struct relay_position *mark = &batch->positions[i];
		copy->places[mark->shard] = (struct kafka_ledger_place){
		    true, mark->ms, mark->seq, mark->count};
	}
	return copy;
}

static void
put_events(struct relay_target *target, struct relay_batch *batch)
{
	struct relay_kafka *k = kafka_of(target);
	must(k->batch == NULL);
	k->batch = batch;
	op_start(&batch->op, 0, NULL);
	kafka_ledger_put(k->ledger, copy_of(batch, k->shards));
}

static struct relay_target_health
topic_health(const struct relay_target *target)
{
	const struct relay_kafka *k =
	    (const struct relay_kafka *)(const void *)target;
	return (struct relay_target_health){
	    .up = kafka_ledger_is_up(k->ledger),
	    .message = kafka_ledger_message(k->ledger)};
}

static void
close_topic(struct relay_target *target)
{
	struct relay_kafka *k = kafka_of(target);
	kafka_ledger_close(&k->ledger);
	free(k);
}

const struct relay_target_kind relay_kafka_kind = {
    .keeps_position = true,
    .events = 10000,
    .open = open_topic,
    .put = put_events,
    .health = topic_health,
    .close = close_topic,
};
