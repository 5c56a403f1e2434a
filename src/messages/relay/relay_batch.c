/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digits.h"
#include "base/hex.h"
#include "base/mem.h"
#include "messages/relay/relay_batch.h"
#include "store/call.h"
#include "store/record/answer_json.h"

enum { FIRST_ROOM = 64, AGAIN_MS = 500 };

static bool
wants(const struct conf_relay *relay, struct span to, struct span route)
{
	static const char *const names[] = {
#define RELAY_STATE(name) #name,
#include "tbl/relay_states.h"
#undef RELAY_STATE
	};
	bool state = false, any = relay->routes.count == 0;
	for (size_t i = 0; i < RELAY_STATE_COUNT_; i++)
		if (span_eq(to, span_str(names[i])))
			state = (relay->states & 1u << i) != 0;
	for (size_t i = 0; i < relay->routes.count; i++)
		any = any || span_eq(route, span_str(relay->routes.list[i]));
	return state && any;
}

static struct span
text_of(struct arena *arena, const json_t *message)
{
	char *text = json_dumps(message, JSON_COMPACT);
	must(text != NULL);
	struct span copy = arena_dup(arena, span_str(text));
	free(text);
	return copy;
}

void
relay_batch_add(struct relay_bundle *b, const struct relay_entry *entry)
{
	struct relay_batch *batch = &b->batch;
	const struct event_id id = {
	    entry->shard, entry->place.ms, entry->place.seq};
	struct span to = event_value(entry->fields, entry->n_fields, "to");
	batch->places[entry->shard] = entry->place;
	b->moves = true;
	b->entries += entry->n_fields > 0;
	if (!wants(b->relay, to,
		event_route(event_value(
		    entry->fields, entry->n_fields, "route"))))
		return;
	if (batch->n_events == b->events_size) {
		b->events_size = 2 * b->events_size + FIRST_ROOM;
		batch->events = mem_grow(
		    batch->events, b->events_size * sizeof *batch->events);
	}
	json_t *message = event_message(
	    &b->conf->store, &id, entry->fields, entry->n_fields);
	must(json_object_set_new(message, "answer", json_null()) == 0);
	batch->events[batch->n_events++] = (struct relay_event){
	    .id = arena_dup(batch->arena,
		span_str(json_string_value(json_object_get(message, "id")))),
	    .key_id = arena_dup(batch->arena,
		event_value(entry->fields, entry->n_fields, "id")),
	    .text = text_of(batch->arena, message),
	};
	if (!b->relay->answer || !span_eq(to, SPAN("COMPLETED"))) {
		json_decref(message);
		return;
	}
	if (b->n_wanted == b->wanted_size) {
		b->wanted_size = 2 * b->wanted_size + FIRST_ROOM;
		b->wanted =
		    mem_grow(b->wanted, b->wanted_size * sizeof *b->wanted);
	}
	b->wanted[b->n_wanted++] = (struct relay_wanted){.bundle = b,
	    .event = batch->n_events - 1,
	    .attempt =
		json_integer_value(json_object_get(message, "attempt")),
	    .message = message};
}

/* --- answers --- */

/*
 * The answer belongs to the event, unless the record has gone on since: another
 * attempt has another answer.  The event goes with it, and without it where
 * that is too large.  Where memory is short, or Redis away, it is asked for
 * again.
 */
static void
on_looked(void *owner)
{
	struct relay_wanted *wanted = owner;
	struct relay_bundle *b = wanted->bundle;
	struct records_op *look = &wanted->look;
	struct relay_event *event = &b->batch.events[wanted->event];
	if (look->op.op.error != 0) {
		answer_unref(&look->op.answer);
		timer_set(&wanted->again, AGAIN_MS);
		return;
	}
	if (look->op.verdict == VERDICT_DONE && look->op.answer != NULL &&
	    look->record.state == STATE_COMPLETED &&
	    look->record.attempt == wanted->attempt &&
	    !look->op.answer->not_kept) {
		json_t *object =
		    json_pack("{s:i}", "status", look->op.answer->status);
		answer_json_set(object, look->op.answer);
		must(json_object_set_new(wanted->message, "answer", object) ==
		    0);
		event->bare = event->text;
		event->text = text_of(b->batch.arena, wanted->message);
	}
	answer_unref(&look->op.answer);
	if (--b->missing == 0)
		b->complete(b->arg);
}

static void
look_for(void *arg)
{
	struct relay_wanted *wanted = arg;
	struct relay_bundle *b = wanted->bundle;
	struct key_id key_id = {{0}};
	/* What is no key has no record either. */
	(void)hex_decode(b->batch.events[wanted->event].key_id, key_id.bytes,
	    DIGEST_BYTES);
	wanted->look = (struct records_op){.arena = b->batch.arena};
	op_init(&wanted->look.op.op, b->loop, on_looked, wanted);
	records_show(b->store, &wanted->look, &key_id, RECORDS_WHOLE);
}

void
relay_batch_complete(
    struct relay_bundle *b, void (*complete)(void *arg), void *arg)
{
	b->complete = complete;
	b->arg = arg;
	b->missing = b->n_wanted;
	for (size_t i = 0; i < b->n_wanted; i++) {
		struct relay_wanted *wanted = &b->wanted[i];
		timer_init(&wanted->again, b->loop, look_for, wanted);
		look_for(wanted);
	}
	if (b->n_wanted == 0)
		complete(arg);
}

/* --- life --- */

struct relay_bundle *
relay_batch_new(struct store *store, const struct conf *conf,
    struct loop *loop, const struct conf_relay *relay)
{
	struct relay_bundle *b = mem_zero(sizeof *b);
	b->batch.arena = arena_new();
	b->batch.places = arena_alloc(b->batch.arena,
	    (size_t)store->conf->store.shards * sizeof *b->batch.places);
	b->relay = relay;
	b->store = store;
	b->loop = loop;
	b->conf = conf;
	return b;
}

void
relay_batch_free(struct relay_bundle **bundle)
{
	struct relay_bundle *b = *bundle;
	*bundle = NULL;
	if (b == NULL)
		return;
	for (size_t i = 0; i < b->n_wanted; i++) {
		struct relay_wanted *wanted = &b->wanted[i];
		json_decref(wanted->message);
		/* Before it is complete nothing is looked for. */
		if (b->complete == NULL)
			continue;
		timer_clear(&wanted->again);
		op_cancel(&wanted->look.op.op);
		answer_unref(&wanted->look.op.answer);
	}
	free(b->wanted);
	free(b->batch.events);
	arena_free(&b->batch.arena);
	free(b);
}
