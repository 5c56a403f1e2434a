/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/utf8.h"
#include "messages/broker/postgres/postgres_private.h"

/*
 * Acknowledgements that come while others are on their way go out together, in
 * one transaction: a commit waits for the server's disk.  Where one of them
 * fails nothing of the batch happened, and each is sent again by itself.  What
 * fails alone is followed by a look: the same statement without a row and
 * without a put, which fails where the table itself is at fault.  As long as it
 * is, the source stands, and it is looked at again and again, as nothing else
 * may come to be finished.
 */
enum {
	BATCH_MOST = 128,
	BATCH_BYTES = 1 << 20,
	SENT_MOST = 2,
	SENT_MOST_ALONE = 16,
	LOOK_MS = 2000,
	VALUES_MOST = 8,
	CHANCE_BYTES = 8,
};

/* What goes over the connection waits so long for a row that is locked. */
static const char short_waits[] =
    "SELECT set_config('lock_timeout', '100', true)";

struct finish_batch {
	struct postgres_batch batch;
	struct postgres_reader *reader;
	unsigned count;
	struct postgres_finishing *items[BATCH_MOST];
};

/* Whether it is the table's fault that one has failed, with that trouble. */
struct finish_look {
	struct postgres_batch batch;
	struct postgres_reader *reader;
	struct finishing *failed; /* NULL: the table has let nothing through */
	struct postgres_trouble trouble;
};

static enum broker_place
place_of_put(const struct broker_put *put)
{
	return put != NULL ? put->place : BROKER_NOWHERE;
}

static enum broker_place
place_of(const struct finishing *f)
{
	return f->finish != NULL ? place_of_put(f->finish->put)
				 : BROKER_NOWHERE;
}

/* --- what is put --- */

/* Bytes that are not UTF-8 are each the character of that number. */
static void
write_string(FILE *out, struct span s)
{
	fputc('"', out);
	while (s.len > 0) {
		unsigned char c = (unsigned char)s.ptr[0];
		size_t len = utf8_length(s);
		if (c == '\0') /* PostgreSQL reads no object with a NUL */
			fputs("\xef\xbf\xbd", out);
		else if (c == '"' || c == '\\' || c < ' ' || c == 0x7f ||
		    len == 0)
			fprintf(out, "\\u%04x", (unsigned)c);
		else
			fwrite(s.ptr, 1, len, out);
		s = span_from(s, len > 0 ? len : 1);
	}
	fputc('"', out);
}

/* As a JSON object, in the arena. */
static struct span
headers_of(struct arena *arena, const struct fields *fields)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	must(out != NULL);
	for (size_t i = 0; i < fields->count; i++) {
		fputc(i > 0 ? ',' : '{', out);
		write_string(out, fields->list[i].name);
		fputc(':', out);
		write_string(out, fields->list[i].value);
	}
	fputs(fields->count > 0 ? "}" : "{}", out);
	must(fclose(out) == 0);
	struct span copy = arena_dup(arena, span_of(text, len));
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
	const struct postgres_row *row = postgres_row_of(f->message);
	ret_values[0] = finish->position;
	ret_values[1] = finish->mark ? span_str(f->reader->source->name)
	    : row != NULL	     ? span_str(row->version)
				     : POSTGRES_NULL;
	if (place_of_put(put) == BROKER_NOWHERE)
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

/* --- the table is looked at --- */

static const char *
table_of(const struct finishing *f)
{
	return place_of(f) == BROKER_RESULTS ? f->reader->source->results
					     : f->reader->source->dead_letters;
}

/* All that is put there is refused. */
static void
refuse_place(struct finishing *f, const char *words)
{
	if (f->finish != NULL)
		reader_trouble_begin(f->reader, POSTGRES_TO_PUT, table_of(f),
		    span_str(words));
	reader_finish_refuse(f, span_str(words), BROKER_FAULT_PLACE);
}

static void
look_ended(struct postgres_batch *batch, const struct postgres_trouble *found)
{
	struct finish_look *look =
	    CONTAINER_OF(batch, struct finish_look, batch);
	struct postgres_reader *reader = look->reader;
	struct broker_reader *core = &reader->core;
	struct finishing *f = look->failed;
	bool known = found == NULL ||
	    (!found->lost && found->kind != POSTGRES_PASSES &&
		found->kind != POSTGRES_ANOTHER);
	if (known && found != NULL) {
		reader_trouble_begin(core, POSTGRES_TO_FINISH, "",
		    span_str(found->words));
		timer_set(&reader->finishes.look, LOOK_MS);
	} else if (known) {
		reader_trouble_end(core, POSTGRES_TO_FINISH, NULL);
		timer_clear(&reader->finishes.look);
	}
	if (f != NULL && !known)
		reader_finish_fail(f, true);
	else if (f != NULL && found != NULL)
		reader_finish_refuse(
		    f, span_str(found->words), BROKER_FAULT_SOURCE);
	else if (f != NULL && look->trouble.kind == POSTGRES_ROW)
		reader_finish_refuse(f, span_str(look->trouble.words),
		    BROKER_FAULT_MESSAGE);
	else if (f != NULL)
		refuse_place(f, look->trouble.words);
	if (found != NULL && found->kind == POSTGRES_ANOTHER)
		postgres_distrust(reader, found);
	reader_kick(core);
	free(look);
}

static void
send_look(struct postgres_reader *reader, struct finishing *failed,
    const struct postgres_trouble *trouble)
{
	struct postgres_pipe *pipe = postgres_connect_pipe(reader->connect);
	const struct span nothing[] = {POSTGRES_NULL, POSTGRES_NULL};
	struct finish_look *look = mem_zero(sizeof *look);
	look->reader = reader;
	look->failed = failed;
	if (trouble != NULL)
		look->trouble = *trouble;
	look->batch = (struct postgres_batch){.end = look_ended};
	postgres_pipe_begin(pipe, &look->batch);
	postgres_pipe_query(pipe, short_waits, NULL, 0);
	postgres_pipe_run(pipe, "finish", nothing, 2);
	postgres_pipe_end(pipe);
}

static void
look_again(void *arg)
{
	send_look(arg, NULL, NULL);
}

/* --- ends --- */

/* Whoever has locked it may finish it, write it anew, or leave it. */
static void
end_locked(struct finishing *f)
{
	struct postgres_row *row = postgres_row_of(f->message);
	/* The first time it may be another reader that finishes it. */
	if (row != NULL && ++row->locked == 2) {
		struct logline line = log_begin(EV_source_row_locked);
		log_str(&line, "source", f->reader->source->name);
		log_cut(&line, "position", row->flight.position, 200);
		log_end(&line);
	}
	reader_finish_end(f, BROKER_LOCKED);
}

/*
 * It was committed, and this is what came of it.  Where the server finishes the
 * row and does not, as a policy for rows, a trigger or a rule keeps it, only a
 * second time tells that from a row that somebody else finishes at this moment.
 */
static void
settle(struct postgres_reader *reader, struct postgres_finishing *item)
{
	static const char kept[] =
	    "the row is not finished though nothing failed: a policy, a "
	    "trigger or a rule keeps it";
	struct finishing *f = &item->finishing;
	struct postgres_row *row = postgres_row_of(f->message);
	if (!item->done && item->could && row != NULL && row->kept) {
		reader_finish_refuse(
		    f, span_str(kept), BROKER_FAULT_MESSAGE);
	} else if (!item->done && item->could) {
		if (row != NULL)
			row->kept = true;
		reader_finish_end(f, BROKER_LOCKED);
	} else if (item->done) {
		reader_trouble_end(f->reader, POSTGRES_TO_FINISH, NULL);
		timer_clear(&reader->finishes.look);
		if (place_of(f) != BROKER_NOWHERE)
			reader_trouble_end(
			    f->reader, POSTGRES_TO_PUT, table_of(f));
		reader_finish_end(f, BROKER_FINISHED);
	} else {
		if (!item->exists && row != NULL &&
		    postgres_row_is_ours(reader, row))
			postgres_row_deleted(reader, row->flight.position);
		reader_finish_end(f, BROKER_NOT_PENDING);
	}
}

/* Nothing of it happened, and it was alone. */
static void
end_failed(struct postgres_reader *reader, struct finishing *f,
    const struct postgres_trouble *trouble)
{
	if (trouble->kind == POSTGRES_LOCKED && trouble->at_row)
		end_locked(f);
	else if (trouble->kind == POSTGRES_PASSES ||
	    trouble->kind == POSTGRES_ANOTHER || f->finish == NULL)
		reader_finish_fail(f, true);
	else if (f->finish->mark && trouble->kind == POSTGRES_ROW)
		reader_finish_refuse(
		    f, span_str(trouble->words), BROKER_FAULT_MESSAGE);
	else if (f->finish->mark)
		refuse_place(f, trouble->words);
	else {
		if (!f->sent)
			reader_finish_send(f);
		send_look(reader, f, trouble);
	}
}

/* --- tables that are put into --- */

static void
table_ready(
    struct postgres_batch *batch, const struct postgres_trouble *trouble)
{
	struct postgres_place_table *table =
	    CONTAINER_OF(batch, struct postgres_place_table, batch);
	struct postgres_reader *reader = table->reader;
	struct finishing *f;
	enum broker_place place =
	    (enum broker_place)(table - reader->finishes.tables);
	if (trouble != NULL && trouble->lost)
		return;
	table->state = trouble == NULL ? TABLE_READY : TABLE_UNKNOWN;
	LIST_EACH(f, &reader->core.waiting, of_reader) {
		struct postgres_trouble copy = {.kind = POSTGRES_OTHER};
		bool waits = place_of(f) == place ||
		    (f->finish->mark && place == BROKER_DEAD_LETTERS);
		if (trouble == NULL || !waits)
			continue;
		/* It has other columns than it must: that stays so. */
		if (strncmp(trouble->state, "42", 2) != 0)
			copy.kind = trouble->kind;
		memcpy(copy.words, trouble->words, sizeof copy.words);
		end_failed(reader, f, &copy);
	}
	if (trouble != NULL && strncmp(trouble->state, "42", 2) != 0 &&
	    trouble->kind == POSTGRES_ANOTHER)
		postgres_distrust(reader, trouble);
	reader_kick(&reader->core);
}

/*
 * Whether the table can be put into; if not, it is seen to: made where it is
 * not there, when something is to be put into it first.
 */
static bool
is_ready(struct postgres_reader *reader, enum broker_place place)
{
	struct postgres_place_table *table = &reader->finishes.tables[place];
	struct postgres_pipe *pipe = postgres_connect_pipe(reader->connect);
	const struct postgres_sql *sql = &reader->sql;
	if (place == BROKER_NOWHERE || table->state == TABLE_READY)
		return true;
	if (table->state == TABLE_ASKED)
		return false;
	table->state = TABLE_ASKED;
	table->reader = reader;
	table->batch = (struct postgres_batch){.end = table_ready};
	postgres_pipe_begin(pipe, &table->batch);
	if (place == BROKER_RESULTS) {
		postgres_pipe_query(pipe, sql->make_results, NULL, 0);
		postgres_pipe_prepare(
		    pipe, "finish_result", sql->finish_result);
	} else {
		postgres_pipe_query(pipe, sql->make_dead, NULL, 0);
		postgres_pipe_prepare(pipe, "finish_dead", sql->finish_dead);
	}
	postgres_pipe_end(pipe);
	return false;
}

/* --- batches --- */

static void
note_item(struct postgres_batch *batch, unsigned statement,
    const PGresult *result)
{
	struct finish_batch *b =
	    CONTAINER_OF(batch, struct finish_batch, batch);
	if (statement == 0 || statement > b->count)
		return;
	struct postgres_finishing *item = b->items[statement - 1];
	item->done = postgres_pipe_number(result, 0, 0) > 0;
	item->exists =
	    !span_eq(postgres_pipe_value(result, 0, 1), SPAN("false"));
	item->could =
	    span_eq(postgres_pipe_value(result, 0, 1), SPAN("kept"));
}

static void
batch_ended(
    struct postgres_batch *batch, const struct postgres_trouble *trouble)
{
	struct finish_batch *b =
	    CONTAINER_OF(batch, struct finish_batch, batch);
	struct postgres_reader *reader = b->reader;
	bool lost = trouble != NULL && trouble->lost;
	reader->finishes.n_sent--;
	for (unsigned i = b->count; i-- > 0;) {
		struct postgres_finishing *item = b->items[i];
		struct finishing *f = &item->finishing;
		if (lost) {
			reader_finish_fail(f, false);
		} else if (trouble == NULL) {
			settle(reader, item);
		} else if (b->count > 1) {
			item->alone = true;
			reader_finish_again(f, 0);
		} else {
			end_failed(reader, f, trouble);
		}
	}
	if (!lost && trouble != NULL && trouble->kind == POSTGRES_ANOTHER)
		postgres_distrust(reader, trouble);
	reader_kick(&reader->core);
	free(b);
}

static void
send_item(struct postgres_reader *reader, const struct finishing *f,
    struct arena *arena)
{
	struct postgres_pipe *pipe = postgres_connect_pipe(reader->connect);
	struct span values[VALUES_MOST];
	unsigned count = values_of(f, arena, values);
	enum broker_place place = place_of_put(f->finish->put);
	if (f->finish->mark)
		postgres_pipe_query(pipe,
		    place == BROKER_RESULTS ? reader->sql.mark_result
					    : reader->sql.mark,
		    values, count);
	else
		postgres_pipe_run(pipe,
		    place == BROKER_RESULTS	       ? "finish_result"
			: place == BROKER_DEAD_LETTERS ? "finish_dead"
						       : "finish",
		    values, count);
}

/* Whether what it is put into is there. */
static bool
can_be_sent(struct postgres_reader *reader, const struct finishing *f)
{
	return is_ready(reader, place_of(f)) &&
	    (!f->finish->mark || is_ready(reader, BROKER_DEAD_LETTERS));
}

/* The next batch of what can be sent; NULL: nothing can. */
static struct finish_batch *
fill_batch(struct postgres_reader *reader)
{
	struct finish_batch *b = mem_zero(sizeof *b);
	struct finishing *f;
	size_t bytes = 0;
	LIST_EACH(f, &reader->core.waiting, of_reader) {
		struct postgres_finishing *item =
		    (struct postgres_finishing *)f;
		bool alone = item->alone || f->finish->mark;
		size_t size =
		    f->finish->put != NULL ? f->finish->put->body.len : 0;
		if (!can_be_sent(reader, f))
			continue;
		if (b->count > 0 &&
		    (alone || b->count == BATCH_MOST ||
			bytes + size > BATCH_BYTES))
			break;
		bytes += size;
		reader_finish_send(f);
		b->items[b->count++] = item;
		if (alone)
			break;
	}
	if (b->count > 0)
		return b;
	free(b);
	return NULL;
}

/* Before it is known which parts came back, nobody knows whose a row is. */
void
postgres_finish_send_all(struct broker_reader *core)
{
	struct postgres_reader *reader = postgres_of(core);
	struct finishing *first;
	struct finish_batch *b;
	if (!postgres_connect_is_ready(reader->connect))
		return;
	struct postgres_pipe *pipe = postgres_connect_pipe(reader->connect);
	while (reader->parts.settled &&
	    (first = LIST_FIRST(
		 &core->waiting, struct finishing, of_reader)) != NULL &&
	    reader->finishes.n_sent <
		(((struct postgres_finishing *)first)->alone
			? SENT_MOST_ALONE
			: SENT_MOST) &&
	    (b = fill_batch(reader)) != NULL) {
		struct arena *arena = arena_new();
		b->batch = (struct postgres_batch){
		    .result = note_item, .end = batch_ended};
		b->reader = reader;
		reader->finishes.n_sent++;
		postgres_pipe_begin(pipe, &b->batch);
		postgres_pipe_query(pipe, short_waits, NULL, 0);
		for (unsigned i = 0; i < b->count; i++)
			send_item(reader, &b->items[i]->finishing, arena);
		arena_free(&arena);
		postgres_pipe_end(pipe);
	}
}

/* --- its life --- */

void
postgres_finish_init(struct postgres_reader *reader)
{
	timer_init(&reader->finishes.look, reader->core.loop, look_again,
	    reader);
}

void
postgres_finish_down(struct postgres_reader *reader)
{
	struct postgres_finishes *f = &reader->finishes;
	timer_clear(&f->look);
	for (int i = 0; i <= BROKER_DEAD_LETTERS; i++)
		f->tables[i].state = TABLE_UNKNOWN;
	reader_trouble_end(&reader->core, POSTGRES_TO_FINISH, NULL);
	reader_trouble_end(&reader->core, POSTGRES_TO_PUT, NULL);
	reader_finish_reachable(&reader->core, false);
}
