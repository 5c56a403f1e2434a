/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/must.h"
#include "messages/broker/postgres/postgres_private.h"

/*
 * Which rows are asked for.  Ids are given before their rows are committed, so
 * there is no place before which nothing comes any more; and rows that are
 * finished stay in the index while anybody has an old snapshot, so that to
 * begin at the start each time becomes slow.  Hence a take brings what is
 * behind the floor, without what is in flight; and the floor is the place up to
 * which all rows had been seen by the time when the last transaction ended that
 * was under way then.  What comes below it all the same (an id that was given
 * without a transaction, a row that is unread anew) is found by a sweep from
 * the start, every ten seconds.
 *
 * So a take that brings a row brings all that are there and stand before it,
 * which an order needs.
 *
 * Where new rows may be anywhere, as ids do not rise, there is no floor: all
 * takes begin at the start, with rests.
 */
enum {
	FLOOR_MS = 1000, /* with an order: for ids without a transaction */
	SWEEP_MS = 10000,
	SWEEP_SHARE = 20, /* a sweep may take a 20th of the time */
	REST_SHARE = 3,   /* where all takes begin at the start: a 4th */
	LIMIT_MOST = 1000,
	BYTES_MOST = 4 << 20,
	VALUES = 8,
};

static const char snapshot_sql[] =
    "SELECT pg_snapshot_xmin(s)::text, pg_snapshot_xmax(s)::text "
    "FROM pg_current_snapshot() AS s";

/* --- places --- */

static void
place_drop(struct postgres_place *place)
{
	free(place->id);
	free(place->order);
	*place = (struct postgres_place){NULL, NULL, 0};
}

/* --- asking --- */

static struct span
text_of(const char *text)
{
	return text != NULL ? span_str(text) : POSTGRES_NULL;
}

/* The ids in flight that may be behind the place, as an array, for free(). */
static char *
left_out(const struct postgres_reader *reader,
    const struct postgres_place *above)
{
	struct list *end = (struct list *)(uintptr_t)&reader->core.in_flight;
	const char *between = "{\"";
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	must(out != NULL);
	for (struct list *at = end->prev; at != end; at = at->prev) {
		const struct postgres_row *row =
		    CONTAINER_OF(at, struct postgres_row, flight.of_reader);
		struct span id = row->flight.position;
		if (reader->sql.rises && row->take <= above->take)
			break;
		fputs(between, out);
		for (size_t i = 0; i < id.len; i++) {
			if (id.ptr[i] == '"' || id.ptr[i] == '\\')
				putc_unlocked('\\', out);
			putc_unlocked(id.ptr[i], out);
		}
		between = "\",\"";
	}
	fputs(between[0] == '{' ? "{}" : "\"}", out);
	must(fclose(out) == 0);
	return text;
}

static void take_result(void *arg, unsigned statement, const PGresult *result);
static void take_ended(void *arg, const struct postgres_trouble *trouble);

static void
ask(struct postgres_reader *reader, struct span parts)
{
	static const struct postgres_place start = {NULL, NULL, 0};
	const struct broker_reader *core = &reader->core;
	struct postgres_take *t = &reader->take;
	struct postgres_pipe *pipe = reader->pipe;
	const struct postgres_place *above = t->sweeping ? &start : &t->floor;
	bool from_start = above->id == NULL;
	size_t bytes = core->credit_bytes - core->queued_bytes;
	char *without = left_out(reader, above);
	struct arena *arena = arena_new();
	if (bytes > BYTES_MOST)
		bytes = BYTES_MOST;
	/* The server looks at the sizes of as many rows as it is asked for. */
	t->limit = reader_room(core);
	if (t->limit > LIMIT_MOST)
		t->limit = LIMIT_MOST;
	t->number++;
	t->outstanding = true;
	t->wake = false;
	if (from_start)
		t->began_ms = loop_now_ms(reader->core.loop);
	const struct span values[VALUES] = {
	    arena_printf(arena, "%zu", t->limit), span_str(without), parts,
	    arena_printf(arena, "%zu", bytes), text_of(t->mark.id),
	    text_of(t->mark.order), text_of(above->id),
	    text_of(above->order)};
	postgres_pipe_begin(pipe, take_result, take_ended, reader);
	postgres_pipe_query(pipe, snapshot_sql, NULL, 0);
	postgres_pipe_run(pipe, from_start ? "take_start" : "take_above",
	    values, from_start ? 6 : VALUES);
	postgres_pipe_end(pipe);
	arena_free(&arena);
	free(without);
}

void
postgres_take_go_on(struct postgres_reader *reader)
{
	struct postgres_take *t = &reader->take;
	int64_t now_ms = loop_now_ms(reader->core.loop);
	char parts[4 * POSTGRES_PARTS + 3];
	if (t->outstanding || reader_room(&reader->core) == 0)
		return;
	if (reader->sql.rises && t->floor.id != NULL && now_ms >= t->sweep_ms)
		t->sweeping = true;
	if (t->from_start) {
		place_drop(&t->floor);
		place_drop(&t->mark);
		t->sweeping = false;
		t->sweep_ms = now_ms + SWEEP_MS;
	} else if (!t->wake && !t->more && !t->sweeping) {
		return;
	} else if (now_ms < t->rest_until_ms) {
		timer_set_at(&t->poll, t->rest_until_ms);
		return;
	}
	unsigned count = postgres_parts_read(reader, parts);
	if (count == 0)
		return;
	t->from_start = false;
	ask(reader,
	    count == reader->sql.parts ? POSTGRES_NULL : span_str(parts));
}

/* --- what came --- */

/*
 * The floor goes to the mark when nothing can come before that any more that
 * this take has not seen; and how far it has seen all is the next mark.  last:
 * its last row; -1: it has none with a place.
 */
static void
move_floor(struct postgres_reader *reader, const PGresult *result, int last)
{
	struct postgres_take *t = &reader->take;
	int64_t now_ms = loop_now_ms(reader->core.loop);
	int64_t least_ms =
	    reader->core.source->order_by != SOURCE_ORDER_NONE ? FLOOR_MS : 0;
	bool seen_all = !t->more ||
	    (last >= 0 && postgres_pipe_true(result, last, COLUMN_BEYOND));
	if (t->mark.id != NULL && seen_all && t->xmin >= t->mark_xmax &&
	    now_ms - t->mark_ms >= least_ms) {
		place_drop(&t->floor);
		t->floor = t->mark;
		t->mark = (struct postgres_place){NULL, NULL, 0};
	}
	if (last < 0 || t->mark.id != NULL)
		return;
	t->mark = (struct postgres_place){
	    mem_str(postgres_pipe_value(result, last, COLUMN_ID)),
	    mem_str(postgres_pipe_value(result, last, COLUMN_ORDER)),
	    t->number};
	t->mark_xmax = 0;
	t->mark_ms = now_ms;
}

/*
 * Rows beyond the credit, which may have shrunk, are for the next take; and so
 * are all of them where something has come back that stands before them.
 */
static void
take_result(void *arg, unsigned statement, const PGresult *result)
{
	struct postgres_reader *reader = arg;
	struct postgres_take *t = &reader->take;
	int rows = PQntuples(result), row = 0, last = -1;
	if (statement == 0) {
		/* What is over now, this take sees. */
		t->xmin = postgres_pipe_number(result, 0, 0);
		/* What was under way when the mark was put is below it. */
		if (t->mark_xmax == 0)
			t->mark_xmax = postgres_pipe_number(result, 0, 1);
		return;
	}
	for (; row < rows && reader_room(&reader->core) > 0 && !t->from_start;
	     row++) {
		postgres_row_take(reader, result, row);
		if (postgres_pipe_value(result, row, COLUMN_ORDER).ptr != NULL)
			last = row;
	}
	t->more = row < rows ||
	    (rows > 0 &&
		(rows < postgres_pipe_number(result, 0, COLUMN_COUNT) ||
		    (size_t)rows >= t->limit));
	if (reader->sql.rises && !t->sweeping && !t->from_start)
		move_floor(reader, result, last);
}

static void
take_ended(void *arg, const struct postgres_trouble *trouble)
{
	struct postgres_reader *reader = arg;
	struct postgres_take *t = &reader->take;
	int64_t now_ms = loop_now_ms(reader->core.loop);
	t->outstanding = false;
	if (postgres_distrust(reader, trouble))
		return;
	if (!reader->sql.rises && !t->more) {
		t->rest_until_ms =
		    now_ms + (now_ms - t->began_ms) * REST_SHARE;
	} else if (t->sweeping && !t->more) {
		int64_t rest_ms = (now_ms - t->began_ms) * SWEEP_SHARE;
		t->sweeping = false;
		t->sweep_ms =
		    now_ms + (rest_ms > SWEEP_MS ? rest_ms : SWEEP_MS);
	}
	if (!timer_is_set(&t->poll))
		timer_set(&t->poll, reader->core.source->poll_ms);
	reader_kick(&reader->core);
}

/* --- its life --- */

void
postgres_take_wake(void *arg)
{
	struct postgres_reader *reader = arg;
	timer_set(&reader->take.poll, reader->core.source->poll_ms);
	reader->take.wake = true;
	reader_kick(&reader->core);
}

/* Another server may give ids again that were before these. */
void
postgres_take_down(struct postgres_reader *reader)
{
	struct postgres_take *t = &reader->take;
	t->outstanding = t->more = t->sweeping = false;
	t->from_start = t->wake = true;
	place_drop(&t->floor);
	place_drop(&t->mark);
	timer_clear(&t->poll);
}
