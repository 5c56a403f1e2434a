/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "base/loop/log.h"
#include "messages/broker/postgres/postgres_private.h"

/*
 * The rows are parted by a hash (postgres_sql.c), and a part is read by the one
 * session that has its advisory lock, (class, part).  Every reader shares one
 * lock more, (class, MEMBER), so that pg_locks says how many there are, and
 * which of them in the order of their processes a reader is: each part is
 * wanted by one of them, who locks it when it is free.  A part that another one
 * wants is let go of when no row of it is in flight, so that whoever has it
 * next finds nothing of it at work; when a session dies, its parts are free at
 * once, and what it had at work is settled by the records.  It recalls what it
 * had of a part that it does not get back, since whoever has that would miss
 * the rows.
 *
 * A pooler that does not pool sessions has several readers in one of them, each
 * with all locks of the others: hence the session is marked (postgres.c), and
 * the mark looked at.
 */
enum {
	LOOK_MS = 1000,
	LEAVING_MS = 10000, /* so long a part that leaves waits for its rows */
};
#define MEMBER "1000"

static const char look_sql[] =
    "SELECT count(*)::text, "
    "(count(*) FILTER (WHERE pid < pg_backend_pid()))::text, "
    "(current_setting('onceproxy.reader', true) = $2::text)::text "
    "FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND granted "
    "AND classid::int8 = ($1::text::int8 & 4294967295) AND objid = " MEMBER
    " AND database = "
    "(SELECT oid FROM pg_database WHERE datname = current_database())";
static const char lock_sql[] =
    "SELECT p::text FROM unnest($2::text::int[]) AS p "
    "WHERE pg_try_advisory_lock($1::text::int, p)";
static const char unlock_sql[] =
    "SELECT p::text FROM unnest($2::text::int[]) AS p "
    "WHERE pg_advisory_unlock($1::text::int, p)";

/* --- lists of parts --- */

struct part_list {
	char text[4 * POSTGRES_PARTS + 3]; /* as SQL writes an array */
	size_t len;
	unsigned count;
};

static void
add_part(struct part_list *list, unsigned part)
{
	int len = snprintf(list->text + list->len,
	    sizeof list->text - list->len, "%c%u}",
	    list->count++ > 0 ? ',' : '{', part);
	list->len += (size_t)len - 1;
}

unsigned
postgres_parts_read(const struct postgres_reader *reader,
    char ret_list[4 * POSTGRES_PARTS + 3])
{
	struct part_list list = {.count = 0};
	for (unsigned i = 0; i < reader->sql.parts; i++)
		if (reader->parts.is[i] == PART_MINE)
			add_part(&list, i);
	memcpy(ret_list, list.text, sizeof list.text);
	return list.count;
}

/* --- taking parts, and letting go of them --- */

enum { LOCK, UNLOCK };

/* What was in flight of a part that is another reader's now comes there. */
static void
settle(struct postgres_reader *reader)
{
	struct postgres_parts *parts = &reader->parts;
	if (parts->settled)
		return;
	parts->settled = true;
	for (unsigned i = 0; i < POSTGRES_PARTS; i++)
		if (parts->is[i] == PART_OTHERS)
			reader_flight_recall(&reader->core, &parts->is[i]);
	reader_kick(&reader->core);
}

/* What was locked is ours, and what was unlocked is not. */
static void
moved(void *arg, unsigned statement, const PGresult *result)
{
	struct postgres_reader *reader = arg;
	struct postgres_parts *parts = &reader->parts;
	unsigned count = 0;
	(void)statement;
	for (int i = 0; i < PQntuples(result); i++) {
		int64_t part = postgres_pipe_number(result, i, 0);
		if (part < 0 || part >= reader->sql.parts)
			continue;
		bool leaves = parts->is[part] == PART_LEAVING;
		parts->is[part] = leaves ? PART_OTHERS : PART_MINE;
		reader->take.from_start |= !leaves;
	}
	if (PQntuples(result) == 0)
		return;
	for (unsigned i = 0; i < reader->sql.parts; i++)
		count += parts->is[i] != PART_OTHERS;
	parts->changes++;
	struct logline line = log_begin(EV_source_parts);
	log_str(&line, "source", reader->core.source->name);
	log_int(&line, "parts", count);
	log_int(&line, "of", reader->sql.parts);
	log_int(&line, "readers", parts->members);
	log_end(&line);
	reader_changed(&reader->core);
}

static void
move_ended(void *arg, const struct postgres_trouble *trouble)
{
	struct postgres_reader *reader = arg;
	reader->parts.busy = false;
	if (trouble == NULL)
		settle(reader);
	postgres_distrust(reader, trouble);
}

static void
send(struct postgres_reader *reader, const struct part_list lists[2])
{
	struct postgres_parts *parts = &reader->parts;
	parts->busy = true;
	postgres_pipe_begin(reader->pipe, moved, move_ended, reader);
	for (int i = 0; i < 2; i++) {
		const struct span values[] = {
		    span_str(parts->class), span_str(lists[i].text)};
		if (lists[i].count > 0)
			postgres_pipe_query(reader->pipe,
			    i == LOCK ? lock_sql : unlock_sql, values, 2);
	}
	postgres_pipe_end(reader->pipe);
}

/* --- looking --- */

static void
seen(void *arg, unsigned statement, const PGresult *result)
{
	struct postgres_reader *reader = arg;
	struct postgres_parts *parts = &reader->parts;
	(void)statement;
	parts->members = (unsigned)postgres_pipe_number(result, 0, 0);
	parts->before = (unsigned)postgres_pipe_number(result, 0, 1);
	parts->marked = postgres_pipe_true(result, 0, 2);
}

static void
looked(void *arg, const struct postgres_trouble *trouble)
{
	struct postgres_reader *reader = arg;
	struct postgres_parts *parts = &reader->parts;
	struct part_list lists[2] = {{.count = 0}, {.count = 0}};
	unsigned in_flight[POSTGRES_PARTS] = {0};
	struct flight *f;
	int64_t now_ms = loop_now_ms(reader->core.loop);
	parts->busy = false;
	if (postgres_distrust(reader, trouble))
		return;
	if (!parts->marked || parts->members == 0) {
		postgres_pipe_refuse(reader->pipe, POSTGRES_POOLED);
		return;
	}
	LIST_EACH(f, &reader->core.in_flight, of_reader)
		in_flight[((const struct postgres_row *)f)->part]++;
	for (unsigned i = 0; i < reader->sql.parts; i++) {
		bool wanted = i % parts->members == parts->before;
		if (parts->is[i] == PART_OTHERS && wanted)
			add_part(&lists[LOCK], i);
		else if (parts->is[i] == PART_MINE && !wanted) {
			parts->is[i] = PART_LEAVING;
			parts->leaves_ms[i] = now_ms + LEAVING_MS;
		} else if (parts->is[i] == PART_LEAVING && wanted) {
			/* Takes have passed its rows meanwhile. */
			parts->is[i] = PART_MINE;
			reader->take.from_start = true;
		}
		/* What rests may rest for a day: it comes again there. */
		if (parts->is[i] == PART_LEAVING &&
		    now_ms >= parts->leaves_ms[i]) {
			reader_flight_recall(&reader->core, &parts->is[i]);
			in_flight[i] = 0;
		}
		if (parts->is[i] == PART_LEAVING && in_flight[i] == 0)
			add_part(&lists[UNLOCK], i);
	}
	if (lists[LOCK].count + lists[UNLOCK].count > 0)
		send(reader, lists);
	else
		settle(reader);
}

void
postgres_parts_look(void *arg)
{
	struct postgres_reader *reader = arg;
	struct postgres_parts *parts = &reader->parts;
	timer_set(&parts->look, LOOK_MS);
	reader_kick(&reader->core);
	if (parts->busy)
		return;
	const struct span values[] = {
	    span_str(parts->class), span_str(reader->mark)};
	parts->busy = true;
	postgres_pipe_begin(reader->pipe, seen, looked, reader);
	if (!parts->joined)
		postgres_pipe_query(reader->pipe,
		    "SELECT pg_advisory_lock_shared($1::text::int, " MEMBER
		    ") WHERE $2::text IS NOT NULL",
		    values, 2);
	postgres_pipe_query(reader->pipe, look_sql, values, 2);
	postgres_pipe_end(reader->pipe);
	parts->joined = true;
}

/* What is in flight stays so: its part may come back. */
void
postgres_parts_down(struct postgres_reader *reader)
{
	struct postgres_parts *parts = &reader->parts;
	timer_clear(&parts->look);
	parts->busy = parts->joined = parts->settled = false;
	for (unsigned i = 0; i < POSTGRES_PARTS; i++) {
		parts->changes += parts->is[i] != PART_OTHERS;
		parts->is[i] = PART_OTHERS;
	}
}
