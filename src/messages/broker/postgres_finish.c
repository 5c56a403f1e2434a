/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/error.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "messages/broker/postgres_private.h"

/*
 * Acknowledgements that come while others are on their way go out together, in
 * one transaction: a commit waits for the server's disk.  Where one of them
 * fails nothing of the batch happened, and each is sent again by itself.
 */
enum {
	BATCH_MOST = 128,
	BATCH_BYTES = 1 << 20,
	OUTSTANDING = 2,
	OUTSTANDING_ALONE = 16,
};

struct postgres_finish_batch {
	struct postgres_batch batch;
	struct postgres_finish_batch *next;
	struct postgres_reader *reader;
	unsigned before; /* statements before those of the items */
	unsigned count;
	struct postgres_finish_item *items[BATCH_MOST];
};

/*
 * Where we may not lock rows, and so not step over those that are locked: all
 * that goes over the connection waits so long for one that is.
 */
static const char short_waits[] =
    "SELECT set_config('lock_timeout', '100', true)";

static enum broker_place
place_of_item(const struct postgres_finish_item *item)
{
	const struct broker_put *put = item->finish->put;
	return put != NULL ? put->place : BROKER_NOWHERE;
}

static size_t
size_of(const struct postgres_finish_item *item)
{
	const struct broker_put *put = item->finish->put;
	return put != NULL && put->has_body ? put->body.len : 0;
}

/* --- ends --- */

static void
end_item(struct postgres_finish_item *item, int error)
{
	if (item->finish != NULL)
		op_done(&item->finish->op, error);
	free(item);
}

void
postgres_finish_tell_deleted(
    struct postgres_reader *reader, struct span position)
{
	struct logline line = log_begin(EV_source_row_deleted);
	log_str(&line, "source", reader->source->name);
	log_cut(&line, "position", position, 200);
	log_end(&line);
	reader->events.lost(
	    reader->events.arg, BROKER_DELETED, 1, span_of("", 0));
}

/* A dead letter is in nobody's hand. */
static struct postgres_row *
row_of(const struct postgres_reader *reader,
    const struct broker_finish *finish)
{
	return finish->letter.len > 0
	    ? NULL
	    : postgres_hand_find(&reader->hand, finish->position);
}

/* It was committed, and this is what came of it. */
static void
settle(struct postgres_reader *reader, struct postgres_finish_item *item)
{
	struct broker_finish *finish = item->finish;
	bool deleted = false;
	if (finish == NULL) {
		free(item);
		return;
	}
	struct postgres_row *row = row_of(reader, finish);
	if (row != NULL) {
		deleted = !item->done && !item->exists &&
		    row->session == reader->session;
		postgres_hand_remove(&reader->hand, row);
	}
	finish->finished = item->done ? BROKER_FINISHED : BROKER_NOT_PENDING;
	if (item->done)
		postgres_own_well(reader);
	if (item->done && place_of_item(item) == reader->refused)
		postgres_note(reader, "");
	if (deleted)
		postgres_finish_tell_deleted(reader, finish->position);
	end_item(item, 0);
}

/* Whoever has locked it may finish it, write it anew, or leave it. */
static void
end_locked(struct postgres_reader *reader, struct postgres_finish_item *item)
{
	struct broker_finish *finish = item->finish;
	struct postgres_row *row =
	    finish != NULL ? row_of(reader, finish) : NULL;
	/* The first time it may be another reader that finishes it. */
	if (row != NULL && ++row->locked == 2) {
		struct logline line = log_begin(EV_source_row_locked);
		log_str(&line, "source", reader->source->name);
		log_cut(&line, "position", finish->position, 200);
		log_end(&line);
	}
	if (finish != NULL)
		finish->finished = BROKER_LOCKED;
	end_item(item, 0);
}

static void
end_refused(struct postgres_reader *reader, struct postgres_finish_item *item,
    const struct postgres_trouble *trouble)
{
	if (item->finish != NULL) {
		snprintf(item->finish->refused, sizeof item->finish->refused,
		    "%s", trouble->words);
		reader->refused = place_of_item(item);
	}
	if (strcmp(reader->message, trouble->words) != 0) {
		struct logline line = log_begin(EV_source_refused);
		log_str(&line, "source", reader->source->name);
		log_str(&line, "error", trouble->words);
		log_end(&line);
	}
	postgres_note(reader, trouble->words);
	end_item(item, E_BROKER_REFUSED);
}

/* Nothing more is said of it: its owner does. */
static void
end_faulty(struct postgres_finish_item *item, const char *words,
    enum broker_fault fault)
{
	if (item->finish != NULL) {
		snprintf(item->finish->refused, sizeof item->finish->refused,
		    "%s", words);
		item->finish->fault = fault;
	}
	end_item(item, E_BROKER_REFUSED);
}

void
postgres_finish_looked(struct postgres_reader *reader,
    struct postgres_finish_item *item, const struct postgres_trouble *own)
{
	if (own == NULL && item->of_row)
		end_faulty(item, item->trouble.words, BROKER_FAULT_MESSAGE);
	else if (own == NULL)
		end_refused(reader, item, &item->trouble);
	else if (own->lost)
		end_item(item, reader->closed ? E_CANCELLED : E_BROKER_DOWN);
	else
		end_faulty(item, own->words, BROKER_FAULT_SOURCE);
}

/* Nothing of it happened, and it was alone, or was not sent. */
static void
end_failed(struct postgres_reader *reader, struct postgres_finish_item *item,
    const struct postgres_trouble *trouble)
{
	bool letter = item->finish != NULL && item->finish->letter.len > 0;
	if (item->finish != NULL && strcmp(trouble->state, "42P01") == 0)
		postgres_put_is_gone(reader, place_of_item(item));
	/* A table that is locked is in the way of all the others as well. */
	if (postgres_own_is_lock(trouble) && trouble->at_row) {
		end_locked(reader, item);
	} else if (letter && item->of_row) {
		end_faulty(item, trouble->words, BROKER_FAULT_MESSAGE);
	} else if (postgres_own_may_pass(trouble) && !item->of_row) {
		end_item(item, E_BROKER_DOWN);
	} else if (letter) {
		end_refused(reader, item, trouble);
	} else {
		postgres_own_ask(reader, item, trouble);
	}
}

/* --- batches --- */

static void
note_item(struct postgres_batch *batch, unsigned statement,
    const PGresult *result)
{
	struct postgres_finish_batch *b =
	    CONTAINER_OF(batch, struct postgres_finish_batch, batch);
	if (statement < b->before || statement - b->before >= b->count)
		return;
	struct postgres_finish_item *item = b->items[statement - b->before];
	item->done = postgres_pipe_number(result, 0, 0) > 0;
	struct span there = postgres_pipe_value(result, 0, 1);
	item->exists = !span_eq(there, SPAN("false"));
	item->kept = span_eq(there, SPAN("kept"));
	item->locked = span_eq(there, SPAN("locked"));
}

/* By itself, before all that waits. */
static void
send_one_again(
    struct postgres_reader *reader, struct postgres_finish_item *item)
{
	struct postgres_finishes *f = &reader->finishes;
	item->alone = true;
	item->next = f->first;
	if (f->first == NULL)
		f->last = &item->next;
	f->first = item;
}

/* In their order. */
static void
send_again(struct postgres_reader *reader, struct postgres_finish_batch *b)
{
	for (unsigned i = b->count; i-- > 0;)
		send_one_again(reader, b->items[i]);
}

/*
 * The server finishes the row and does not: a policy for rows, a trigger or a
 * rule keeps it.  Only a second statement knows it from a row that somebody
 * else finishes at this moment.
 */
static void
settle_all(struct postgres_reader *reader, struct postgres_finish_batch *b)
{
	static const char kept[] =
	    "the row is not finished though nothing failed: a policy, a "
	    "trigger or a rule keeps it";
	for (unsigned i = 0; i < b->count; i++) {
		struct postgres_finish_item *item = b->items[i];
		if (item->locked) {
			end_locked(reader, item);
		} else if (item->done || !item->kept || item->finish == NULL) {
			settle(reader, item);
		} else if (item->again) {
			end_faulty(item, kept, BROKER_FAULT_MESSAGE);
		} else {
			item->again = true;
			send_one_again(reader, item);
		}
	}
}

static void
unlist(struct postgres_finishes *f, struct postgres_finish_batch *b)
{
	struct postgres_finish_batch **at = &f->sent;
	while (*at != b)
		at = &(*at)->next;
	*at = b->next;
	f->outstanding--;
}

static void
end_lost(struct postgres_reader *reader, struct postgres_finish_batch *b)
{
	int error = reader->closed ? E_CANCELLED : E_BROKER_DOWN;
	for (unsigned i = 0; i < b->count; i++)
		end_item(b->items[i], error);
}

static void
batch_ended(
    struct postgres_batch *batch, const struct postgres_trouble *trouble)
{
	struct postgres_finish_batch *b =
	    CONTAINER_OF(batch, struct postgres_finish_batch, batch);
	struct postgres_reader *reader = b->reader;
	unlist(&reader->finishes, b);
	if (trouble == NULL)
		settle_all(reader, b);
	else if (trouble->lost)
		end_lost(reader, b);
	else if (b->count > 1)
		send_again(reader, b);
	else {
		b->items[0]->of_row = postgres_own_is_of_row(trouble);
		end_failed(reader, b->items[0], trouble);
	}
	if (trouble != NULL && !trouble->lost &&
	    postgres_own_needs_another(trouble))
		postgres_down(reader, trouble->words);
	postgres_pump(reader);
	free(b);
}

/* --- sending --- */

/* Whoever has written the row since has written another message. */
static struct span
version_of_row(
    const struct postgres_reader *reader, const struct broker_finish *finish)
{
	const struct postgres_row *row =
	    postgres_hand_find(&reader->hand, finish->position);
	return row != NULL && row->version[0] != '\0' ?
	    span_str(row->version) :
	    POSTGRES_NULL;
}

static void
send_batch(struct postgres_reader *reader, struct postgres_finish_batch *b)
{
	struct arena *arena = arena_new();
	struct span values[POSTGRES_PUT_VALUES];
	b->batch = (struct postgres_batch){
	    .result = note_item, .end = batch_ended};
	b->reader = reader;
	b->next = reader->finishes.sent;
	reader->finishes.sent = b;
	reader->finishes.outstanding++;
	postgres_pipe_begin(reader->pipe, &b->batch);
	b->before = reader->sql.waits;
	if (reader->sql.waits)
		postgres_pipe_query(reader->pipe, short_waits, NULL, 0);
	for (unsigned i = 0; i < b->count; i++) {
		const struct postgres_finish_item *item = b->items[i];
		struct span name = postgres_put_statement(
		    reader, arena, place_of_item(item));
		unsigned count =
		    postgres_put_values(arena, item->finish,
			version_of_row(reader, item->finish), values);
		if (item->finish->letter.len > 0)
			postgres_pipe_query(reader->pipe,
			    postgres_put_letter(
				reader, place_of_item(item)),
			    values, count);
		else
			postgres_pipe_run(
			    reader->pipe, name.ptr, values, count);
	}
	arena_free(&arena);
	postgres_pipe_end(reader->pipe);
}

static struct postgres_finish_item *
unqueue(struct postgres_finishes *f, struct postgres_finish_item **at)
{
	struct postgres_finish_item *item = *at;
	*at = item->next;
	if (*at == NULL)
		f->last = at;
	return item;
}

/* True: the item goes with those that the batch has. */
static bool
fits(const struct postgres_finish_batch *b, size_t bytes,
    const struct postgres_finish_item *item)
{
	if (b->count == 0)
		return true;
	return b->count < BATCH_MOST && !item->alone && !b->items[0]->alone &&
	    bytes + size_of(item) <= BATCH_BYTES;
}

/* The next batch of what can be sent; NULL: nothing can. */
static struct postgres_finish_batch *
fill_batch(struct postgres_reader *reader)
{
	struct postgres_finishes *f = &reader->finishes;
	struct postgres_finish_batch *b = mem_zero(sizeof *b);
	struct postgres_finish_item **at = &f->first, *item;
	size_t bytes = 0;
	while ((item = *at) != NULL) {
		struct broker_finish *finish = item->finish;
		if (finish == NULL) {
			free(unqueue(f, at));
			continue;
		}
		if (finish->letter.len == 0 &&
		    postgres_again_disowned(reader, finish->position)) {
			finish->finished = BROKER_NOT_PENDING;
			end_item(unqueue(f, at), 0);
			continue;
		}
		if (!postgres_put_is_ready(reader, place_of_item(item))) {
			at = &item->next;
			continue;
		}
		if (!fits(b, bytes, item))
			break;
		bytes += size_of(item);
		b->items[b->count++] = unqueue(f, at);
	}
	if (b->count > 0)
		return b;
	free(b);
	return NULL;
}

void
postgres_finish_go_on(struct postgres_reader *reader)
{
	struct postgres_finishes *f = &reader->finishes;
	while (reader->parts.settled && f->first != NULL &&
	    f->outstanding <
		(f->first->alone ? OUTSTANDING_ALONE : OUTSTANDING)) {
		struct postgres_finish_batch *b = fill_batch(reader);
		if (b == NULL)
			return;
		send_batch(reader, b);
	}
}

/* --- the owner's side --- */

/* Given up; it may be on its way, and then happens all the same. */
static void
detach(struct op *op, int error)
{
	(void)error;
	struct broker_finish *finish =
	    CONTAINER_OF(op, struct broker_finish, op);
	struct postgres_reader *reader = finish->token;
	struct postgres_finishes *f = &reader->finishes;
	struct postgres_row *row = row_of(reader, finish);
	if (row != NULL)
		row->session = 0;
	struct postgres_finish_item *item = f->first;
	for (; item != NULL; item = item->next)
		if (item->finish == finish)
			item->finish = NULL;
	for (item = reader->own.waiting; item != NULL; item = item->next)
		if (item->finish == finish)
			item->finish = NULL;
	for (struct postgres_finish_batch *b = f->sent; b; b = b->next)
		for (unsigned i = 0; i < b->count; i++)
			if (b->items[i]->finish == finish)
				b->items[i]->finish = NULL;
}

void
postgres_finish_ask(
    struct postgres_reader *reader, struct broker_finish *finish)
{
	struct postgres_finishes *f = &reader->finishes;
	finish->token = reader;
	op_start(&finish->op, 0, detach);
	if (!reader->ready) {
		op_done(&finish->op, E_BROKER_DOWN);
		return;
	}
	struct postgres_finish_item *item = mem_zero(sizeof *item);
	item->finish = finish;
	*f->last = item;
	f->last = &item->next;
	postgres_pump(reader);
}

void
postgres_finish_refuse(struct postgres_reader *reader,
    enum broker_place place, const struct postgres_trouble *trouble)
{
	struct postgres_finishes *f = &reader->finishes;
	struct postgres_finish_item **at = &f->first, *item;
	while ((item = *at) != NULL)
		if (item->finish != NULL && place_of_item(item) == place)
			end_failed(reader, unqueue(f, at), trouble);
		else
			at = &item->next;
}

void
postgres_finish_drop(struct postgres_reader *reader, int error)
{
	struct postgres_finishes *f = &reader->finishes;
	while (f->first != NULL)
		end_item(unqueue(f, &f->first), error);
}

void
postgres_finish_init(struct postgres_reader *reader)
{
	reader->finishes.last = &reader->finishes.first;
}
