/* SPDX-License-Identifier: BSD-2-Clause */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "messages/broker/postgres/postgres_private.h"
#include "store/record/answer_json.h"

/*
 * Acknowledgements that come while others are on their way go out together, in
 * one transaction: a commit waits for the server's disk.  Where one of them
 * fails nothing of the batch happened, and each is sent again by itself, behind
 * a statement that finishes no row at all: where that one fails, it is the
 * table that lets nothing be finished.  Then the connection is made again, and
 * is set up with that statement (postgres.c), until it does not fail.
 */
enum {
	BATCH_MOST = 128,
	BATCH_BYTES = 1 << 20,
	SENT_MOST = 2,
	FAILED_MOST = 4,
	VALUES_MOST = 8,
	CHANCE_BYTES = 8,
};

struct finish_batch {
	struct postgres_reader *reader;
	bool alone;
	unsigned first; /* statement, of the first item */
	unsigned count;
	struct postgres_finishing *items[BATCH_MOST];
};

static enum broker_place
place_of(const struct finishing *f)
{
	const struct broker_put *put =
	    f->finish != NULL ? f->finish->put : NULL;
	return put != NULL ? put->place : BROKER_NOWHERE;
}

/* --- what is put --- */

/* As a JSON object, in the arena; PostgreSQL reads none with a NUL. */
static struct span
headers_of(struct arena *arena, const struct fields *fields)
{
	json_t *headers = json_object();
	for (size_t i = 0; i < fields->count; i++) {
		struct span name = arena_dup(arena, fields->list[i].name);
		json_object_set_new(headers, name.ptr,
		    answer_json_text(fields->list[i].value));
	}
	char *text = json_dumps(headers, JSON_COMPACT);
	json_decref(headers);
	must(text != NULL);
	for (char *at = text; (at = strchr(at, '\\')) != NULL; at += 2)
		if (strncmp(at, "\\u0000", 6) == 0)
			memcpy(at, "\\ufffd", 6);
	struct span copy = arena_dup(arena, span_str(text));
	free(text);
	return copy;
}

/*
 * A row may be read again, where somebody makes it unread: then it has a second
 * result.  One that is put with a mark is the same each time that is asked for,
 * as nothing tells whether the last time was committed.
 */
static struct span
result_id(struct arena *arena, const struct broker_finish *finish,
    struct span headers)
{
	uint8_t bytes[DIGEST_BYTES];
	char hex[2 * CHANCE_BYTES + 1];
	struct digest digest;
	random_bytes(bytes, CHANCE_BYTES);
	if (finish->mark) {
		digest_begin(&digest, SPAN("onceproxy result"), SPAN(""));
		digest_part(&digest, headers);
		digest_part(&digest, finish->put->body);
		digest_end(&digest, bytes);
	}
	hex_encode(bytes, CHANCE_BYTES, hex);
	return arena_printf(arena, "%.*s/%s", SPAN_FMT(finish->position), hex);
}

/* Of the statement that finishes it; how many. */
static unsigned
values_of(const struct finishing *f, struct arena *arena,
    struct span ret_values[VALUES_MOST])
{
	const struct broker_finish *finish = f->finish;
	const struct broker_put *put = finish->put;
	const struct postgres_row *row =
	    (const struct postgres_row *)f->message;
	ret_values[0] = finish->position;
	ret_values[1] = finish->mark ? span_str(f->reader->source->name)
	    : row != NULL	     ? span_str(row->version)
				     : POSTGRES_NULL;
	if (place_of(f) == BROKER_NOWHERE)
		return 2;
	struct span headers = headers_of(arena, &put->fields);
	struct span body = !put->has_body ? POSTGRES_NULL
	    : put->body.ptr != NULL       ? put->body
					  : SPAN("");
	if (put->place == BROKER_RESULTS) {
		ret_values[2] = result_id(arena, finish, headers);
		ret_values[3] = put->status != 0
		    ? arena_printf(arena, "%d", put->status)
		    : POSTGRES_NULL;
		ret_values[4] = headers;
		ret_values[5] = body;
		ret_values[6] = put->key_id;
		return 7;
	}
	ret_values[2] = finish->position;
	ret_values[3] = put->entity;
	ret_values[4] = put->type;
	ret_values[5] = body;
	ret_values[6] = headers;
	ret_values[7] = put->whole ? SPAN("whole") : SPAN("");
	return 8;
}

/* --- ends --- */

static const char *
table_of(const struct finishing *f)
{
	return place_of(f) == BROKER_RESULTS ? f->reader->source->results
					     : f->reader->source->dead_letters;
}

static void
log_row(const struct broker_reader *core, enum event event,
    struct span position)
{
	struct logline line = log_begin(event);
	log_str(&line, "source", core->source->name);
	log_cut(&line, "position", position, 200);
	log_end(&line);
}

/*
 * It was committed, and this is what came of it.  Where the server finishes the
 * row and does not, as a policy for rows, a trigger or a rule keeps it, only a
 * second time tells that from a row that somebody else finishes at this moment.
 */
static void
settle(struct postgres_finishing *item)
{
	struct finishing *f = &item->finishing;
	struct broker_reader *core = f->reader;
	struct postgres_row *row = (struct postgres_row *)f->message;
	switch (item->found) {
	case FOUND_DONE:
		((struct postgres_reader *)core)->failed = 0;
		if (place_of(f) != BROKER_NOWHERE)
			reader_trouble_end(
			    core, POSTGRES_TO_PUT, table_of(f));
		reader_finish_end(f, BROKER_FINISHED);
		break;
	case FOUND_KEPT:
		if (row != NULL && row->kept) {
			reader_finish_refuse(f,
			    SPAN("the row is not finished though nothing "
				 "failed: a policy, a trigger or a rule keeps "
				 "it"),
			    BROKER_FAULT_MESSAGE);
			break;
		}
		if (row != NULL)
			row->kept = true;
		reader_finish_end(f, BROKER_LOCKED);
		break;
	case FOUND_GONE:
	case FOUND_ANEW:
		/* The row was deleted, and not by a reader. */
		if (item->found == FOUND_GONE && row != NULL &&
		    !row->flight.unsure) {
			log_row(core, EV_source_row_deleted,
			    row->flight.position);
			if (!core->leaving)
				core->events.lost(core->events.arg,
				    BROKER_DELETED, 1, SPAN(""));
		}
		reader_finish_end(f, BROKER_NOT_PENDING);
		break;
	}
}

/*
 * What passes, or is of the connection, may be what a trigger has for one row
 * alone: then it fails again and again, while nothing is wrong with the table.
 * Until that shows, what failed at work on a row waits as a locked one does;
 * unless that happens while none is finished, as it may be all of them.
 */
static enum postgres_kind
kind_of(struct postgres_row *row, const struct postgres_trouble *trouble)
{
	enum postgres_kind kind = trouble->kind;
	if (row == NULL || kind == POSTGRES_ROW || kind == POSTGRES_LOCKED ||
	    (kind == POSTGRES_OTHER && !trouble->at_row))
		return kind;
	if (++row->failed >= FAILED_MOST)
		return POSTGRES_ROW;
	return trouble->at_row ? POSTGRES_LOCKED : kind;
}

/* Nothing of it happened, and it was alone. */
static void
end_failed(struct finishing *f, const struct postgres_trouble *trouble,
    bool of_table)
{
	struct postgres_reader *reader = (struct postgres_reader *)f->reader;
	struct span words = span_str(trouble->words);
	struct postgres_row *row = (struct postgres_row *)f->message;
	enum postgres_kind kind =
	    of_table ? trouble->kind : kind_of(row, trouble);
	if (kind == POSTGRES_PASSES || kind == POSTGRES_ANOTHER ||
	    f->finish == NULL) {
		reader_finish_fail(f, true);
	} else if (of_table ||
	    (kind != trouble->kind && kind == POSTGRES_LOCKED &&
		++reader->failed > FAILED_MOST)) {
		reader_finish_refuse(f, words, BROKER_FAULT_SOURCE);
	} else if (kind == POSTGRES_LOCKED && trouble->at_row) {
		/*
		 * Whoever has locked it may finish it, write it anew, or leave
		 * it.  The first time it may be another reader that finishes
		 * it.
		 */
		if (trouble->kind == kind && row != NULL && ++row->locked == 2)
			log_row(f->reader, EV_source_row_locked,
			    row->flight.position);
		reader_finish_end(f, BROKER_LOCKED);
	} else if (kind == POSTGRES_ROW) {
		reader_finish_refuse(f, words, BROKER_FAULT_MESSAGE);
	} else {
		/* All that is put there is refused. */
		reader_trouble_begin(
		    f->reader, POSTGRES_TO_PUT, table_of(f), words);
		reader_finish_refuse(f, words, BROKER_FAULT_PLACE);
	}
	if (kind == POSTGRES_ANOTHER || (of_table && kind != POSTGRES_PASSES))
		postgres_distrust(reader, trouble);
}

/* --- batches --- */

static void
note_item(void *arg, unsigned statement, const PGresult *result)
{
	static const char *const words[] = {[FOUND_DONE] = "done",
	    [FOUND_KEPT] = "kept", [FOUND_GONE] = "gone"};
	struct finish_batch *b = arg;
	if (statement < b->first || statement >= b->first + b->count)
		return;
	struct postgres_finishing *item = b->items[statement - b->first];
	item->found = FOUND_DONE;
	while (item->found < FOUND_ANEW &&
	    !span_eq(postgres_pipe_value(result, 0, 0),
		span_str(words[item->found])))
		item->found++;
}

static void
batch_ended(void *arg, const struct postgres_trouble *trouble)
{
	struct finish_batch *b = arg;
	struct postgres_reader *reader = b->reader;
	reader->finishes_sent--;
	for (unsigned i = b->count; i-- > 0;) {
		struct postgres_finishing *item = b->items[i];
		struct finishing *f = &item->finishing;
		if (trouble == NULL) {
			settle(item);
		} else if (trouble->lost) {
			reader_finish_fail(f, false);
		} else if (b->alone) {
			end_failed(f, trouble, trouble->statement < b->first);
		} else {
			item->alone = true;
			reader_finish_again(f, 0);
		}
	}
	reader_kick(&reader->core);
	free(b);
}

/* As many of those that wait as go together. */
static void
send_batch(struct postgres_reader *reader)
{
	static const struct span nothing[2];
	struct postgres_pipe *pipe = reader->pipe;
	struct span values[VALUES_MOST];
	struct arena *arena = arena_new();
	struct finish_batch *b = mem_zero(sizeof *b);
	struct finishing *f;
	size_t bytes = 0;
	b->reader = reader;
	b->first = 1;
	reader->finishes_sent++;
	postgres_pipe_begin(pipe, note_item, batch_ended, b);
	postgres_pipe_query(pipe,
	    "SELECT set_config('lock_timeout', '100', true)", NULL, 0);
	LIST_EACH(f, &reader->core.waiting, of_reader) {
		struct postgres_finishing *item =
		    (struct postgres_finishing *)f;
		bool alone = item->alone || f->finish->mark;
		if (f->finish->put != NULL)
			bytes += f->finish->put->body.len;
		if (b->count > 0 &&
		    (alone || b->count == BATCH_MOST || bytes > BATCH_BYTES))
			break;
		if (item->alone && !f->finish->mark) {
			postgres_pipe_run(pipe, "finish", nothing, 2);
			b->first++;
		}
		reader_finish_send(f);
		b->items[b->count++] = item;
		enum broker_place place = place_of(f);
		unsigned count = values_of(f, arena, values);
		if (f->finish->mark)
			postgres_pipe_query(pipe,
			    place == BROKER_RESULTS ? reader->sql.mark_result
						    : reader->sql.mark,
			    values, count);
		else
			postgres_pipe_run(pipe,
			    place == BROKER_RESULTS ? "finish_result"
				: place == BROKER_DEAD_LETTERS
				? "finish_dead"
				: "finish",
			    values, count);
		b->alone = alone;
		if (alone)
			break;
	}
	arena_free(&arena);
	postgres_pipe_end(pipe);
}

/* Before it is known which parts came back, nobody knows whose a row is. */
void
postgres_finish_send_all(struct broker_reader *core)
{
	struct postgres_reader *reader = (struct postgres_reader *)core;
	while (postgres_pipe_is_ready(reader->pipe) &&
	    reader->parts.settled && !list_empty(&core->waiting) &&
	    reader->finishes_sent < SENT_MOST)
		send_batch(reader);
}
