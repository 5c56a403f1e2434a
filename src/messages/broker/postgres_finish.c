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
#include "messages/broker/postgres_private.h"

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

struct finish_item {
	struct list list;
	struct postgres_reader *reader;
	struct broker_finish *finish; /* NULL: given up, or a look of our own */
	bool alone;
	bool look; /* at the table, as it failed with this trouble: */
	struct postgres_trouble trouble;
	/* What its statement gave: */
	bool done;   /* the row was unread until now */
	bool exists; /* else: it is there all the same */
	bool could;  /* and could have been finished */
};

struct finish_batch {
	struct postgres_batch batch;
	struct list list;
	struct postgres_reader *reader;
	unsigned count;
	struct finish_item *items[BATCH_MOST];
};

static enum broker_place
place_of(const struct finish_item *item)
{
	return item->finish == NULL || item->look || item->finish->put == NULL
	    ? BROKER_NOWHERE
	    : item->finish->put->place;
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

/* Of the statement that the item has; how many. */
static unsigned
values_of(const struct finish_item *item, struct arena *arena,
    struct span ret_values[VALUES_MOST])
{
	const struct postgres_reader *reader = item->reader;
	const struct broker_finish *finish = item->finish;
	ret_values[0] = ret_values[1] = POSTGRES_NULL;
	if (finish == NULL || item->look)
		return 2;
	const struct broker_put *put = finish->put;
	ret_values[0] = finish->position;
	ret_values[1] = finish->mark
	    ? span_str(reader->source->name)
	    : postgres_row_version(reader, finish->position);
	if (place_of(item) == BROKER_NOWHERE)
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

static void
end_item(struct finish_item *item, int error)
{
	if (item->finish != NULL)
		op_done(&item->finish->op, error);
	list_remove(&item->list);
	free(item);
}

/* Nothing was put; all but the fault of a place is its owner's to say. */
static void
end_refused(
    struct finish_item *item, const char *words, enum broker_fault fault)
{
	struct broker_finish *finish = item->finish;
	if (finish != NULL) {
		snprintf(finish->refused, sizeof finish->refused, "%s", words);
		finish->fault = fault;
	}
	if (finish != NULL && fault == BROKER_FAULT_PLACE) {
		item->reader->refused = place_of(item);
		postgres_note_refusal(item->reader, words);
	}
	end_item(item, E_BROKER_REFUSED);
}

/* Whoever has locked it may finish it, write it anew, or leave it. */
static void
end_locked(struct finish_item *item)
{
	struct broker_finish *finish = item->finish;
	struct postgres_row *row =
	    postgres_row_find(item->reader, finish->position);
	/* The first time it may be another reader that finishes it. */
	if (row != NULL && ++row->locked == 2) {
		struct logline line = log_begin(EV_source_row_locked);
		log_str(&line, "source", item->reader->source->name);
		log_cut(&line, "position", finish->position, 200);
		log_end(&line);
	}
	finish->finished = BROKER_LOCKED;
	end_item(item, 0);
}

static void
stand(struct postgres_reader *reader, bool stands, const char *words)
{
	if (stands)
		postgres_note_refusal(reader, words);
	else if (reader->stands)
		postgres_note(reader, "");
	if (reader->stands != stands)
		postgres_note_change(reader);
	reader->stands = stands;
	if (stands)
		timer_set(&reader->finishes.look, LOOK_MS);
	else
		timer_clear(&reader->finishes.look);
}

/*
 * It was committed, and this is what came of it.  Where the server finishes the
 * row and does not, as a policy for rows, a trigger or a rule keeps it, only a
 * second time tells that from a row that somebody else finishes at this moment.
 */
static void
settle(struct finish_item *item)
{
	static const char kept[] =
	    "the row is not finished though nothing failed: a policy, a "
	    "trigger or a rule keeps it";
	struct postgres_reader *reader = item->reader;
	struct broker_finish *finish = item->finish;
	struct postgres_row *row =
	    finish->mark ? NULL : postgres_row_find(reader, finish->position);
	if (!item->done && item->could && row != NULL && row->kept) {
		end_refused(item, kept, BROKER_FAULT_MESSAGE);
		return;
	}
	if (!item->done && item->could) {
		if (row != NULL)
			row->kept = true;
		end_item(item, 0);
		return;
	}
	bool mine = row != NULL && row->session == reader->session;
	if (row != NULL)
		postgres_row_forget(reader, row);
	finish->finished = item->done ? BROKER_FINISHED : BROKER_NOT_PENDING;
	if (item->done)
		stand(reader, false, "");
	if (item->done && place_of(item) == reader->refused)
		postgres_note(reader, "");
	if (!item->done && !item->exists && mine)
		postgres_row_deleted(reader, finish->position);
	end_item(item, 0);
}

static void
send_again(struct finish_item *item)
{
	item->alone = true;
	list_add_first(&item->reader->finishes.waiting, &item->list);
}

/* It was a look, which says whose fault it is that the item has failed. */
static void
end_look(struct finish_item *item, const struct postgres_trouble *found)
{
	enum postgres_kind kind = item->trouble.kind;
	if (found != NULL &&
	    (found->kind == POSTGRES_PASSES ||
		found->kind == POSTGRES_ANOTHER)) {
		end_item(item, E_BROKER_DOWN);
		return;
	}
	stand(item->reader, found != NULL, found != NULL ? found->words : "");
	item->look = false;
	if (found != NULL)
		end_refused(item, found->words, BROKER_FAULT_SOURCE);
	else if (kind == POSTGRES_ROW)
		end_refused(item, item->trouble.words, BROKER_FAULT_MESSAGE);
	else
		end_refused(item, item->trouble.words, BROKER_FAULT_PLACE);
}

/* Nothing of it happened, and it was alone. */
static void
end_failed(struct finish_item *item, const struct postgres_trouble *trouble)
{
	const struct broker_finish *finish = item->finish;
	bool of_row = trouble->kind == POSTGRES_ROW;
	if (trouble->kind == POSTGRES_LOCKED && trouble->at_row)
		end_locked(item);
	else if (trouble->kind == POSTGRES_PASSES ||
	    trouble->kind == POSTGRES_ANOTHER)
		end_item(item, E_BROKER_DOWN);
	else if (finish->mark)
		end_refused(item, trouble->words,
		    of_row ? BROKER_FAULT_MESSAGE : BROKER_FAULT_PLACE);
	else {
		item->look = true;
		item->trouble = *trouble;
		send_again(item);
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
	struct finish_item *item;
	enum broker_place place =
	    (enum broker_place)(table - reader->finishes.tables);
	if (trouble != NULL && trouble->lost)
		return;
	table->state = trouble == NULL ? TABLE_READY : TABLE_UNKNOWN;
	LIST_EACH(item, &reader->finishes.waiting, list) {
		struct postgres_trouble copy = {.kind = POSTGRES_OTHER};
		bool waits = item->finish != NULL && !item->look &&
		    (place_of(item) == place ||
			(item->finish->mark && place == BROKER_DEAD_LETTERS));
		if (trouble == NULL || !waits)
			continue;
		/* It has other columns than it must: that stays so. */
		if (strncmp(trouble->state, "42", 2) != 0)
			copy.kind = trouble->kind;
		memcpy(copy.words, trouble->words, sizeof copy.words);
		list_remove(&item->list);
		end_failed(item, &copy);
	}
	if (trouble != NULL && strncmp(trouble->state, "42", 2) != 0 &&
	    trouble->kind == POSTGRES_ANOTHER)
		postgres_note_trouble(reader, trouble);
	postgres_pump(reader);
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
	struct finish_item *item = b->items[statement - 1];
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
	list_remove(&b->list);
	reader->finishes.n_sent--;
	bool again = trouble != NULL && !trouble->lost && b->count > 1;
	for (unsigned i = b->count; again && i-- > 0;)
		send_again(b->items[i]);
	for (unsigned i = 0; !again && i < b->count; i++) {
		struct finish_item *item = b->items[i];
		if (trouble != NULL && trouble->lost)
			end_item(item, postgres_note_error(reader));
		else if (item->look)
			end_look(item, trouble);
		else if (item->finish == NULL)
			end_item(item, 0);
		else if (trouble != NULL)
			end_failed(item, trouble);
		else
			settle(item);
	}
	if (trouble != NULL && trouble->kind == POSTGRES_ANOTHER)
		postgres_note_trouble(reader, trouble);
	postgres_pump(reader);
	free(b);
}

static void
send_item(struct postgres_pipe *pipe, const struct finish_item *item,
    struct arena *arena)
{
	struct span values[VALUES_MOST];
	unsigned count = values_of(item, arena, values);
	enum broker_place place = place_of(item);
	const struct postgres_sql *sql = &item->reader->sql;
	if (item->finish != NULL && item->finish->mark && !item->look)
		postgres_pipe_query(pipe,
		    place == BROKER_RESULTS ? sql->mark_result : sql->mark,
		    values, count);
	else
		postgres_pipe_run(pipe,
		    place == BROKER_RESULTS	     ? "finish_result"
			: place == BROKER_DEAD_LETTERS ? "finish_dead"
						       : "finish",
		    values, count);
}

/* Whether what it is put into is there. */
static bool
can_be_sent(const struct finish_item *item)
{
	return is_ready(item->reader, place_of(item)) &&
	    (item->finish == NULL || !item->finish->mark ||
		is_ready(item->reader, BROKER_DEAD_LETTERS));
}

/* The next batch of what can be sent; NULL: nothing can. */
static struct finish_batch *
fill_batch(struct postgres_reader *reader)
{
	struct finish_batch *b = mem_zero(sizeof *b);
	struct finish_item *item;
	size_t bytes = 0;
	LIST_EACH(item, &reader->finishes.waiting, list) {
		const struct broker_finish *finish = item->finish;
		bool alone = item->alone || (finish != NULL && finish->mark);
		size_t size = finish != NULL && finish->put != NULL
		    ? finish->put->body.len
		    : 0;
		if (finish == NULL && !item->look) {
			end_item(item, 0);
			continue;
		}
		if (!can_be_sent(item))
			continue;
		if (b->count > 0 &&
		    (alone || b->count == BATCH_MOST ||
			bytes + size > BATCH_BYTES))
			break;
		bytes += size;
		list_remove(&item->list);
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
postgres_finish_go_on(struct postgres_reader *reader)
{
	struct postgres_finishes *f = &reader->finishes;
	struct postgres_pipe *pipe = postgres_connect_pipe(reader->connect);
	struct finish_item *first;
	struct finish_batch *b;
	while (reader->parts.settled &&
	    (first = LIST_FIRST(&f->waiting, struct finish_item, list)) !=
		NULL &&
	    f->n_sent < (first->alone ? SENT_MOST_ALONE : SENT_MOST) &&
	    (b = fill_batch(reader)) != NULL) {
		struct arena *arena = arena_new();
		b->batch = (struct postgres_batch){
		    .result = note_item, .end = batch_ended};
		b->reader = reader;
		list_add_last(&f->sent, &b->list);
		f->n_sent++;
		postgres_pipe_begin(pipe, &b->batch);
		postgres_pipe_query(pipe, short_waits, NULL, 0);
		for (unsigned i = 0; i < b->count; i++)
			send_item(pipe, b->items[i], arena);
		arena_free(&arena);
		postgres_pipe_end(pipe);
	}
}

/* --- the owner's side --- */

/* Given up; it may be on its way, and then happens all the same. */
static void
detach(struct op *op, int error)
{
	struct broker_finish *finish =
	    CONTAINER_OF(op, struct broker_finish, op);
	struct finish_item *item = finish->token;
	struct postgres_row *row =
	    postgres_row_find(item->reader, finish->position);
	(void)error;
	if (row != NULL)
		row->session = 0;
	item->finish = NULL;
}

void
postgres_finish_ask(
    struct broker_reader *base, struct broker_finish *finish)
{
	struct postgres_reader *reader = postgres_of(base);
	op_start(&finish->op, 0, detach);
	finish->finished = BROKER_LOCKED;
	finish->fault = BROKER_FAULT_PLACE;
	if (!postgres_connect_is_ready(reader->connect)) {
		op_done(&finish->op, E_BROKER_DOWN);
		return;
	}
	struct finish_item *item = mem_zero(sizeof *item);
	item->reader = reader;
	item->finish = finish;
	finish->token = item;
	list_add_last(&reader->finishes.waiting, &item->list);
	postgres_pump(reader);
}

/* --- its life --- */

static void
look_again(void *arg)
{
	struct postgres_reader *reader = arg;
	struct finish_item *item = mem_zero(sizeof *item);
	item->reader = reader;
	item->look = true;
	send_again(item);
	postgres_pump(reader);
}

void
postgres_finish_init(struct postgres_reader *reader)
{
	list_init(&reader->finishes.waiting);
	list_init(&reader->finishes.sent);
	timer_init(&reader->finishes.look, reader->loop, look_again, reader);
}

void
postgres_finish_down(struct postgres_reader *reader)
{
	struct postgres_finishes *f = &reader->finishes;
	struct finish_item *item;
	reader->stands = false;
	timer_clear(&f->look);
	for (int i = 0; i <= BROKER_DEAD_LETTERS; i++)
		f->tables[i].state = TABLE_UNKNOWN;
	LIST_EACH(item, &f->waiting, list)
		end_item(item, postgres_note_error(reader));
}
