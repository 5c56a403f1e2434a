/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digits.h"
#include "base/hex.h"
#include "base/mem.h"
#include "messages/relay/relay_batch.h"
#include "store/record/event.h"
#include "store/record/label.h"

enum { FIRST_ROOM = 64, AGAIN_MS = 500, ATTEMPT_MAX = 999999 };

/* --- an entry as an event --- */

static struct span
word_of(const struct relay_entry *entry, const char *name)
{
	for (size_t i = 0; i + 1 < entry->n_words; i += 2)
		if (span_eq(entry->words[i], span_str(name)))
			return entry->words[i + 1];
	return (struct span){NULL, 0};
}

static int64_t
number_of(const struct relay_entry *entry, const char *name, int64_t max)
{
	int64_t number;
	return digits_read(word_of(entry, name), max, &number) ? number : 0;
}

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
copied(struct arena *arena, struct span word)
{
	return word.ptr != NULL ? arena_dup(arena, word) : word;
}

/* It may be sealed for the key that the entry is of. */
static struct span
label_of(struct relay_batch *batch, const struct relay_entry *entry)
{
	struct key_id key_id;
	struct span text;
	if (!hex_decode(
		word_of(entry, "id"), key_id.bytes, sizeof key_id.bytes) ||
	    !label_read(batch->arena, &batch->conf->store, &key_id,
		word_of(entry, "label"), &text))
		return (struct span){NULL, 0};
	return arena_dup(batch->arena, text);
}

static void
add_event(struct relay_batch *batch, const struct relay_entry *entry,
    struct span route)
{
	struct arena *arena = batch->arena;
	const struct relay_position *at = &entry->position;
	if (batch->n_events == batch->events_size) {
		batch->events_size = 2 * batch->events_size + FIRST_ROOM;
		batch->events = mem_grow(batch->events,
		    batch->events_size * sizeof *batch->events);
	}
	batch->events[batch->n_events++] = (struct relay_event){
	    .id = arena_printf(arena, "%u-%llu-%llu", at->shard,
		(unsigned long long)at->ms, (unsigned long long)at->seq),
	    .key_id = copied(arena, word_of(entry, "id")),
	    .route = copied(arena, route),
	    .from = copied(arena, word_of(entry, "from")),
	    .to = copied(arena, word_of(entry, "to")),
	    .status = (int)number_of(entry, "status", 599),
	    .attempt = number_of(entry, "attempt", ATTEMPT_MAX),
	    .time_ms = (int64_t)at->ms,
	    .instance = copied(arena, word_of(entry, "instance")),
	    .request_id = copied(arena, word_of(entry, "request_id")),
	    .label = label_of(batch, entry),
	};
}

/* Entries of a shard mostly come one after the other. */
void
relay_batch_stand(
    struct relay_batch *batch, const struct relay_position *position)
{
	for (size_t i = batch->n_positions; i > 0; i--)
		if (batch->positions[i - 1].shard == position->shard) {
			batch->positions[i - 1] = *position;
			return;
		}
	if (batch->n_positions == batch->positions_size) {
		batch->positions_size =
		    2 * batch->positions_size + FIRST_ROOM;
		batch->positions = mem_grow(batch->positions,
		    batch->positions_size * sizeof *batch->positions);
	}
	batch->positions[batch->n_positions++] = *position;
}

void
relay_batch_add(struct relay_batch *batch, const struct relay_entry *entry)
{
	struct span route = event_route(word_of(entry, "route"));
	relay_batch_stand(batch, &entry->position);
	batch->entries++;
	if (wants(batch->relay, word_of(entry, "to"), route))
		add_event(batch, entry, route);
}

/* --- answers --- */

static void on_fetched(void *owner);

/* Looks for the answer of the slot's event, or else of the next one. */
static void
fetch_answer(void *arg)
{
	struct relay_fetch *fetch = arg;
	struct relay_batch *batch = fetch->batch;
	struct key_id key_id;
	while (fetch->event == NULL && batch->next < batch->n_events) {
		struct relay_event *event = &batch->events[batch->next++];
		if (batch->relay->answer &&
		    span_eq(event->to, SPAN("COMPLETED")))
			fetch->event = event;
	}
	if (fetch->event == NULL) {
		if (--batch->fetching == 0)
			batch->complete(batch);
		return;
	}
	if (!hex_decode(fetch->event->key_id, key_id.bytes, DIGEST_BYTES)) {
		fetch->event = NULL;
		timer_set(&fetch->timer, 0);
		return;
	}
	fetch->look = (struct records_op){.arena = batch->arena};
	op_init(&fetch->look.op.op, fetch->timer.loop, on_fetched, fetch);
	records_show(batch->store, &fetch->look, &key_id, RECORDS_WHOLE);
}

/*
 * The answer belongs to the event, unless the record has gone on since: another
 * attempt has another answer.  Where memory is short, or Redis away, it is
 * asked for again.
 */
static void
on_fetched(void *owner)
{
	struct relay_fetch *fetch = owner;
	struct records_op *look = &fetch->look;
	bool answered = look->op.op.error == 0;
	if (answered && look->op.verdict == VERDICT_DONE &&
	    look->op.answer != NULL &&
	    look->record.state == STATE_COMPLETED &&
	    look->record.attempt == fetch->event->attempt &&
	    !look->op.answer->not_kept) {
		fetch->event->answer = look->op.answer;
		look->op.answer = NULL;
	}
	answer_unref(&look->op.answer);
	if (answered)
		fetch->event = NULL;
	timer_set(&fetch->timer, answered ? 0 : AGAIN_MS);
}

void
relay_batch_complete(struct relay_batch *batch,
    void (*complete)(struct relay_batch *batch))
{
	batch->complete = complete;
	batch->fetching = batch->relay->answer ? RELAY_BATCH_FETCHES : 1;
	for (size_t i = 0; i < batch->fetching; i++)
		timer_set(&batch->fetches[i].timer, 0);
}

/* --- life --- */

struct relay_batch *
relay_batch_new(struct store *store, const struct conf *conf,
    struct loop *loop, const struct conf_relay *relay)
{
	struct relay_batch *batch = mem_zero(sizeof *batch);
	batch->arena = arena_new();
	batch->relay = relay;
	batch->store = store;
	batch->conf = conf;
	for (size_t i = 0; i < RELAY_BATCH_FETCHES; i++) {
		batch->fetches[i].batch = batch;
		timer_init(&batch->fetches[i].timer, loop, fetch_answer,
		    &batch->fetches[i]);
	}
	return batch;
}

void
relay_batch_free(struct relay_batch *batch)
{
	if (batch == NULL)
		return;
	op_cancel(&batch->op);
	for (size_t i = 0; i < RELAY_BATCH_FETCHES; i++) {
		struct relay_fetch *fetch = &batch->fetches[i];
		timer_clear(&fetch->timer);
		op_cancel(&fetch->look.op.op);
		answer_unref(&fetch->look.op.answer);
	}
	for (size_t i = 0; i < batch->n_events; i++)
		answer_unref(&batch->events[i].answer);
	free(batch->events);
	free(batch->positions);
	arena_free(&batch->arena);
	free(batch);
}
