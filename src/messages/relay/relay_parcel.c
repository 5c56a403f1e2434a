/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/digits.h"
#include "base/hex.h"
#include "base/mem.h"
#include "messages/relay/relay_parcel.h"
#include "store/record/event.h"
#include "store/record/label.h"

enum { FIRST_ROOM = 64, AGAIN_MS = 500, ATTEMPT_MAX = 999999 };

static void fetch_more(void *arg);

struct relay_parcel *
relay_parcel_new(struct store *store, const struct conf *conf,
    struct loop *loop, const struct conf_relay *relay)
{
	struct relay_parcel *parcel = mem_zero(sizeof *parcel);
	parcel->batch.arena = arena_new();
	parcel->relay = relay;
	parcel->store = store;
	parcel->conf = conf;
	timer_init(&parcel->again, loop, fetch_more, parcel);
	return parcel;
}

void
relay_parcel_free(struct relay_parcel **parcel)
{
	struct relay_parcel *p = *parcel;
	*parcel = NULL;
	if (p == NULL)
		return;
	op_cancel(&p->batch.op);
	timer_clear(&p->again);
	for (size_t i = 0; i < RELAY_PARCEL_FETCHES; i++) {
		if (p->fetches[i].event == NULL)
			continue;
		op_cancel(&p->fetches[i].look.op.op);
		answer_unref(&p->fetches[i].look.op.answer);
	}
	for (size_t i = 0; i < p->batch.n_events; i++)
		answer_unref(&p->batch.events[i].answer);
	free(p->batch.events);
	free(p->batch.marks);
	arena_free(&p->batch.arena);
	free(p);
}

/* --- where it stands --- */

/* Entries of a shard mostly come one after the other. */
static struct relay_mark *
mark_of(struct relay_parcel *p, unsigned shard)
{
	struct relay_batch *batch = &p->batch;
	for (size_t i = batch->n_marks; i > 0; i--)
		if (batch->marks[i - 1].shard == shard)
			return &batch->marks[i - 1];
	if (batch->n_marks == p->size_marks) {
		p->size_marks = 2 * p->size_marks + FIRST_ROOM;
		batch->marks = mem_grow(
		    batch->marks, p->size_marks * sizeof *batch->marks);
	}
	return &batch->marks[batch->n_marks++];
}

void
relay_parcel_stand(struct relay_parcel *p, const struct relay_mark *mark)
{
	*mark_of(p, mark->shard) = *mark;
}

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
wants_state(const struct conf_relay *relay, struct span to)
{
	static const char *const names[] = {
#define RELAY_STATE(name) #name,
#include "tbl/relay_states.h"
#undef RELAY_STATE
	};
	for (size_t i = 0; i < RELAY_STATE_COUNT_; i++)
		if (span_eq(to, span_str(names[i])))
			return (relay->states & 1u << i) != 0;
	return false; /* nothing that a gateway has written */
}

static struct span
route_of(const struct relay_entry *entry)
{
	return event_route(word_of(entry, "route"));
}

static bool
wants_route(const struct conf_relay *relay, struct span route)
{
	for (size_t i = 0; i < relay->routes.count; i++)
		if (span_eq(route, span_str(relay->routes.list[i])))
			return true;
	return relay->routes.count == 0;
}

static struct span
kept(struct arena *arena, struct span word)
{
	return word.ptr != NULL ? arena_dup(arena, word) : word;
}

/* It may be sealed for the key that the entry is of. */
static struct span
label_of(struct relay_parcel *p, const struct relay_entry *entry)
{
	struct key_id key_id;
	struct span text;
	if (!hex_decode(
		word_of(entry, "id"), key_id.bytes, sizeof key_id.bytes) ||
	    !label_read(p->batch.arena, &p->conf->store, &key_id,
		word_of(entry, "label"), &text))
		return (struct span){NULL, 0};
	return arena_dup(p->batch.arena, text);
}

static void
add_event(struct relay_parcel *p, const struct relay_entry *entry)
{
	struct relay_batch *batch = &p->batch;
	struct arena *arena = batch->arena;
	if (batch->n_events == p->size_events) {
		p->size_events = 2 * p->size_events + FIRST_ROOM;
		batch->events = mem_grow(
		    batch->events, p->size_events * sizeof *batch->events);
	}
	batch->events[batch->n_events++] = (struct relay_event){
	    .id = arena_printf(arena, "%u-%llu-%llu", entry->mark.shard,
		(unsigned long long)entry->mark.ms,
		(unsigned long long)entry->mark.seq),
	    .key_id = kept(arena, word_of(entry, "id")),
	    .route = kept(arena, route_of(entry)),
	    .from = kept(arena, word_of(entry, "from")),
	    .to = kept(arena, word_of(entry, "to")),
	    .status = (int)number_of(entry, "status", 599),
	    .attempt = number_of(entry, "attempt", ATTEMPT_MAX),
	    .time_ms = (int64_t)entry->mark.ms,
	    .instance = kept(arena, word_of(entry, "instance")),
	    .request_id = kept(arena, word_of(entry, "request_id")),
	    .label = label_of(p, entry),
	};
}

void
relay_parcel_add(struct relay_parcel *p, const struct relay_entry *entry)
{
	relay_parcel_stand(p, &entry->mark);
	p->entries++;
	if (wants_state(p->relay, word_of(entry, "to")) &&
	    wants_route(p->relay, route_of(entry)))
		add_event(p, entry);
}

/* --- answers --- */

/*
 * The answer belongs to the event, unless the record has gone on since: another
 * attempt has another answer.
 */
static void
take_answer(struct relay_fetch *fetch)
{
	struct records_op *look = &fetch->look;
	struct relay_event *event = fetch->event;
	if (look->op.verdict == VERDICT_DONE && look->op.answer != NULL &&
	    look->record.state == STATE_COMPLETED &&
	    look->record.attempt == event->attempt &&
	    !look->op.answer->not_kept) {
		event->answer = look->op.answer;
		look->op.answer = NULL;
	}
	answer_unref(&look->op.answer);
}

static void
end_fetching(struct relay_parcel *p)
{
	timer_clear(&p->again);
	p->complete(p);
}

static void
on_fetched(void *owner)
{
	struct relay_fetch *fetch = owner;
	struct relay_parcel *p = fetch->parcel;
	size_t at = (size_t)(fetch->event - p->batch.events);
	bool answered = fetch->look.op.op.error == 0;
	if (answered) {
		take_answer(fetch);
		p->n_wishes--;
	}
	/* Else memory is short, or Redis away: it is asked for again. */
	p->wishes[at] = answered ? WISH_NONE : WISH_ANSWER;
	answer_unref(&fetch->look.op.answer);
	fetch->event = NULL;
	if (p->n_wishes == 0)
		end_fetching(p);
	else if (!timer_is_set(&p->again))
		timer_set(&p->again, answered ? 0 : AGAIN_MS);
}

static void
fetch(struct relay_parcel *p, struct relay_fetch *fetch, size_t at)
{
	struct key_id key_id;
	struct relay_event *event = &p->batch.events[at];
	if (!hex_decode(event->key_id, key_id.bytes, DIGEST_BYTES)) {
		p->wishes[at] = WISH_NONE;
		p->n_wishes--;
		return;
	}
	p->wishes[at] = WISH_ASKED;
	*fetch = (struct relay_fetch){.parcel = p, .event = event};
	fetch->look.arena = p->batch.arena;
	op_init(&fetch->look.op.op, p->again.loop, on_fetched, fetch);
	records_show(p->store, &fetch->look, &key_id, RECORDS_WHOLE);
}

/* As many at a time as there is room for. */
static void
fetch_more(void *arg)
{
	struct relay_parcel *p = arg;
	size_t slot = 0;
	for (size_t i = 0; i < p->batch.n_events; i++) {
		if (p->wishes[i] != WISH_ANSWER)
			continue;
		while (slot < RELAY_PARCEL_FETCHES &&
		    p->fetches[slot].event != NULL)
			slot++;
		if (slot == RELAY_PARCEL_FETCHES)
			return;
		fetch(p, &p->fetches[slot], i);
	}
	if (p->n_wishes == 0)
		end_fetching(p);
}

void
relay_parcel_fetch(struct relay_parcel *p,
    void (*complete)(struct relay_parcel *parcel))
{
	size_t count = p->batch.n_events;
	p->complete = complete;
	p->wishes = arena_alloc(
	    p->batch.arena, (count + 1) * sizeof *p->wishes);
	for (size_t i = 0; i < count && p->relay->answer; i++)
		if (span_eq(p->batch.events[i].to, SPAN("COMPLETED"))) {
			p->wishes[i] = WISH_ANSWER;
			p->n_wishes++;
		}
	timer_set(&p->again, 0);
}
