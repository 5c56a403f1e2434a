/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/loop/log.h"
#include "base/random.h"
#include "messages/broker/postgres/postgres_private.h"

/*
 * The rows are parted by a hash (postgres_sql.c), and a part is read by the one
 * session that has its advisory lock, (class, part).  Every reader shares one
 * lock more, (class, MEMBER), so that pg_locks says how many there are: each
 * takes its share of the parts that are nobody's, and lets go of what it has
 * beyond that.  A part is let go of when no row of it is in flight, so that
 * whoever has it next finds nothing of it at work; when a session dies, its
 * parts are free at once, and what it had at work is settled by the records.
 * It recalls what it had of a part that it does not get back, since whoever has
 * that would miss the rows.
 */
enum { LOOK_MS = 1000, MEMBER = 1000 };

static const char member_sql[] =
    "SELECT pg_advisory_lock_shared($1::text::int, $2::text::int)";
static const char look_sql[] =
    "SELECT objid::text, count(*)::text, "
    "bool_or(pid = pg_backend_pid())::text FROM pg_locks "
    "WHERE locktype = 'advisory' AND objsubid = 2 AND granted "
    "AND classid::int8 = ($1::text::int8 & 4294967295) "
    "AND $2::text IS NULL AND database = "
    "(SELECT oid FROM pg_database WHERE datname = current_database()) "
    "GROUP BY objid";
static const char lock_sql[] =
    "SELECT p::text FROM unnest($2::text::int[]) AS p "
    "WHERE pg_try_advisory_lock($1::text::int, p)";
static const char unlock_sql[] =
    "SELECT p::text FROM unnest($2::text::int[]) AS p "
    "WHERE pg_advisory_unlock($1::text::int, p)";

static struct postgres_reader *
reader_of(struct postgres_batch *batch)
{
	return CONTAINER_OF(batch, struct postgres_reader, parts.batch);
}

static unsigned
count_of(const struct postgres_reader *reader, enum postgres_part is)
{
	unsigned count = 0;
	for (unsigned i = 0; i < reader->sql.parts; i++)
		count += reader->parts.is[i] == is;
	return count;
}

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

/* second NULL: there is none. */
static void
send(struct postgres_reader *reader, const char *sql, const char *second,
    void (*result)(struct postgres_batch *batch, unsigned statement,
	const PGresult *result),
    void (*end)(struct postgres_batch *batch,
	const struct postgres_trouble *trouble))
{
	struct postgres_parts *parts = &reader->parts;
	struct postgres_pipe *pipe = postgres_connect_pipe(reader->connect);
	char class[16];
	snprintf(class, sizeof class, "%d", (int)parts->class);
	struct span values[] = {span_str(class),
	    second != NULL ? span_str(second) : POSTGRES_NULL};
	parts->busy = true;
	parts->batch = (struct postgres_batch){.result = result, .end = end};
	postgres_pipe_begin(pipe, &parts->batch);
	postgres_pipe_query(pipe, sql, values, 2);
	postgres_pipe_end(pipe);
}

/* --- taking parts, and letting go of them --- */

void
postgres_parts_recall(struct postgres_reader *reader, unsigned part)
{
	if (reader->parts.in_flight[part] > 0)
		reader_flight_recall(&reader->core, &reader->parts.is[part]);
}

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
			postgres_parts_recall(reader, i);
	reader_kick(&reader->core);
}

/* What was locked is ours, and what was unlocked is not. */
static void
moved(struct postgres_batch *batch, unsigned statement, const PGresult *result)
{
	struct postgres_reader *reader = reader_of(batch);
	struct postgres_parts *parts = &reader->parts;
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
	parts->changes++;
	struct logline line = log_begin(EV_source_parts);
	log_str(&line, "source", reader->core.source->name);
	log_int(&line, "parts",
	    reader->sql.parts - count_of(reader, PART_OTHERS));
	log_int(&line, "of", reader->sql.parts);
	log_int(&line, "readers", parts->members);
	log_end(&line);
	reader_changed(&reader->core);
	reader_kick(&reader->core);
}

static void
move_ended(
    struct postgres_batch *batch, const struct postgres_trouble *trouble)
{
	struct postgres_reader *reader = reader_of(batch);
	reader->parts.busy = false;
	if (trouble == NULL)
		settle(reader);
	postgres_distrust(reader, trouble);
}

/* From a part by chance on, so that readers that come at once do not meet. */
static void
take_free(struct postgres_reader *reader, unsigned wanted)
{
	struct postgres_parts *parts = &reader->parts;
	struct part_list list = {.count = 0};
	uint8_t start;
	random_bytes(&start, 1);
	for (unsigned i = 0; i < reader->sql.parts; i++) {
		unsigned part = (start + i) % reader->sql.parts;
		if (parts->free[part] && list.count < wanted)
			add_part(&list, part);
	}
	if (list.count > 0)
		send(reader, lock_sql, list.text, moved, move_ended);
}

/*
 * Chosen anew at each look: the parts with the fewest rows in flight are not
 * read any more, until they have none.
 */
static void
leave_some(struct postgres_reader *reader, unsigned surplus)
{
	struct postgres_parts *parts = &reader->parts;
	struct part_list list = {.count = 0};
	enum postgres_part before[POSTGRES_PARTS];
	for (unsigned i = 0; i < reader->sql.parts; i++) {
		before[i] = parts->is[i];
		if (parts->is[i] == PART_LEAVING)
			parts->is[i] = PART_MINE;
	}
	for (; surplus > 0; surplus--) {
		unsigned best = POSTGRES_PARTS;
		for (unsigned i = 0; i < reader->sql.parts; i++)
			if (parts->is[i] == PART_MINE &&
			    (best == POSTGRES_PARTS ||
				parts->in_flight[i] < parts->in_flight[best]))
				best = i;
		parts->is[best] = PART_LEAVING;
	}
	for (unsigned i = 0; i < reader->sql.parts; i++) {
		/* Takes have passed its rows meanwhile. */
		if (before[i] == PART_LEAVING && parts->is[i] == PART_MINE)
			reader->take.from_start = true;
		if (parts->is[i] == PART_LEAVING && parts->in_flight[i] == 0)
			add_part(&list, i);
	}
	if (list.count > 0)
		send(reader, unlock_sql, list.text, moved, move_ended);
}

/* --- looking --- */

static void
seen(struct postgres_batch *batch, unsigned statement, const PGresult *result)
{
	struct postgres_reader *reader = reader_of(batch);
	struct postgres_parts *parts = &reader->parts;
	bool held[POSTGRES_PARTS] = {false};
	(void)statement;
	parts->members = 1;
	for (unsigned i = 0; i < reader->sql.parts; i++)
		parts->free[i] = true;
	for (int i = 0; i < PQntuples(result); i++) {
		int64_t part = postgres_pipe_number(result, i, 0);
		if (part >= 0 && part < reader->sql.parts) {
			parts->free[part] = false;
			held[part] = postgres_pipe_true(result, i, 2);
		} else if (part == MEMBER) {
			parts->members =
			    (unsigned)postgres_pipe_number(result, i, 1);
		}
	}
	for (unsigned i = 0; i < reader->sql.parts; i++)
		parts->torn |= parts->is[i] != PART_OTHERS && !held[i];
}

static void
looked(struct postgres_batch *batch, const struct postgres_trouble *trouble)
{
	struct postgres_reader *reader = reader_of(batch);
	struct postgres_parts *parts = &reader->parts;
	unsigned members = parts->members > 0 ? parts->members : 1;
	unsigned share = (reader->sql.parts + members - 1) / members;
	unsigned mine = reader->sql.parts - count_of(reader, PART_OTHERS);
	parts->busy = false;
	if (trouble != NULL) {
		postgres_distrust(reader, trouble);
		return;
	}
	if (parts->torn) {
		postgres_connect_refuse(reader->connect,
		    "advisory locks do not last on this connection: a pooler "
		    "of connections is in between, and must pool sessions");
		return;
	}
	leave_some(reader, mine > share ? mine - share : 0);
	if (mine < share)
		take_free(reader, share - mine);
	if (!parts->busy)
		settle(reader);
}

static void
look_again(void *arg)
{
	struct postgres_reader *reader = arg;
	timer_set(&reader->parts.look, LOOK_MS);
	if (!reader->parts.busy)
		send(reader, look_sql, NULL, seen, looked);
	reader_kick(&reader->core);
}

static void
joined(struct postgres_batch *batch, const struct postgres_trouble *trouble)
{
	struct postgres_reader *reader = reader_of(batch);
	reader->parts.busy = false;
	if (trouble != NULL)
		postgres_distrust(reader, trouble);
	else
		look_again(reader);
}

void
postgres_parts_up(struct postgres_reader *reader)
{
	char member[16];
	snprintf(member, sizeof member, "%d", MEMBER);
	send(reader, member_sql, member, NULL, joined);
}

/* What is in flight stays so: its part may come back. */
void
postgres_parts_down(struct postgres_reader *reader)
{
	struct postgres_parts *parts = &reader->parts;
	timer_clear(&parts->look);
	parts->busy = parts->torn = parts->settled = false;
	for (unsigned i = 0; i < POSTGRES_PARTS; i++) {
		parts->changes += parts->is[i] != PART_OTHERS;
		parts->is[i] = PART_OTHERS;
	}
}

void
postgres_parts_init(struct postgres_reader *reader)
{
	timer_init(&reader->parts.look, reader->core.loop, look_again, reader);
}
