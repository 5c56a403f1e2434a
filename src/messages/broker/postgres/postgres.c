/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/digest.h"
#include "base/hex.h"
#include "base/random.h"
#include "messages/broker/postgres/postgres.h"
#include "messages/broker/postgres/postgres_private.h"
#include "store/postgres/postgres_name.h"

enum { COUNT_EVERY_MS = 10000 };

/* --- what the columns are --- */

/*
 * The table's columns; a domain is what it is made of, and its base, where that
 * is a domain itself, is not known.
 */
static const char columns_sql[] =
    "SELECT n.nspname::text || '.' || c.relname::text, a.attname::text, "
    "format_type(a.atttypid, -1), coalesce(b.typname, y.typname)::text, "
    "CASE WHEN coalesce(b.typtype, y.typtype) <> 'd' "
    "THEN format_type(coalesce(b.oid, y.oid), -1) END, "
    "(a.attnotnull OR y.typnotnull)::text "
    "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "JOIN pg_attribute a ON a.attrelid = c.oid "
    "JOIN pg_type y ON y.oid = a.atttypid "
    "LEFT JOIN pg_type b ON b.oid = y.typbasetype "
    "WHERE c.oid = $1::text::regclass AND a.attnum > 0 "
    "AND NOT a.attisdropped";
enum { SQL_TABLE, SQL_NAME, SQL_TYPE, SQL_KIND, SQL_BASE, SQL_NOT_NULL };

static const char *const numbers[] = {"int2", "int4", "int8", "numeric", NULL};
/* A timestamp is of a zone that nobody says. */
static const char *const times[] = {"timestamptz", NULL};
static const char *const jsons[] = {"json", "jsonb", NULL};

/* Whether the kind of the column in that row is in the list. */
static bool
is_one_of(const char *const *kinds, const PGresult *result, int row)
{
	struct span kind = postgres_pipe_value(result, row, SQL_KIND);
	while (*kinds != NULL && !span_eq(kind, span_str(*kinds)))
		kinds++;
	return *kinds != NULL;
}

/* The row of that column; -1: there is none. */
static int
find(const PGresult *result, const char *name)
{
	int at = 0;
	while (name != NULL && at < PQntuples(result) &&
	    !span_eq(postgres_pipe_value(result, at, SQL_NAME),
		span_str(name)))
		at++;
	return name != NULL && at < PQntuples(result) ? at : -1;
}

/*
 * What keeps the table from being read, in the arena; NULL: nothing.  An order
 * that it cannot keep would be another order.
 */
static const char *
what_is_wrong(struct postgres_reader *reader, const PGresult *result)
{
	const struct conf_source *s = reader->core.source;
	const struct conf_columns *c = &s->columns;
	const struct {
		const char *member, *name;
	} read[] = {{"columns.id", c->id}, {"columns.order", c->order},
	    {"columns.payload", c->payload}, {"columns.entity", c->entity},
	    {"columns.type", c->type}, {"columns.headers", c->headers},
	    {"finish", s->finish.column}};
	for (size_t i = 0; i < sizeof read / sizeof *read; i++)
		if (read[i].name != NULL && find(result, read[i].name) < 0)
			return arena_printf(reader->arena,
			    "the table %.80s has no column %.80s, which is "
			    "its %s",
			    s->table, read[i].name, read[i].member)
			    .ptr;
	if (c->headers != NULL &&
	    !is_one_of(jsons, result, find(result, c->headers)))
		return arena_printf(reader->arena,
		    "the column %.80s is neither json nor jsonb", c->headers)
		    .ptr;
	if (s->finish.column != NULL && s->finish.from == NULL &&
	    postgres_pipe_true(
		result, find(result, s->finish.column), SQL_NOT_NULL))
		return arena_printf(reader->arena,
		    "nothing can ever be read, as the column %.40s is never "
		    "null: say which value unread rows have, with \"from\" "
		    "and \"to\" of finish",
		    s->finish.column)
		    .ptr;
	if (s->max_age_ms > 0 &&
	    (c->order == NULL ||
		!is_one_of(times, result, find(result, c->order))))
		return "nothing says how old a row is, for max_age: "
		       "columns.order is to be a timestamptz";
	reader->no_order = s->order_by != SOURCE_ORDER_NONE &&
	    c->order == NULL &&
	    !is_one_of(numbers, result, find(result, c->id));
	if (reader->no_order)
		return arena_printf(reader->arena,
		    "the ids of the column %.80s do not rise, so nothing says "
		    "in which order its rows were written: name a column that "
		    "does in columns.order",
		    c->id)
		    .ptr;
	return NULL;
}

/*
 * Readers that part a table in the same way meet in one class, whatever each
 * calls the table.
 */
static int32_t
class_of(const struct postgres_reader *reader, struct span table)
{
	struct digest digest;
	uint8_t hash[DIGEST_BYTES];
	char parting[40];
	int32_t class;
	snprintf(parting, sizeof parting, "%d of %u",
	    (int)reader->core.source->order_by, reader->sql.parts);
	digest_begin(&digest, SPAN("onceproxy outbox"), SPAN(""));
	digest_part(&digest, table);
	digest_part(&digest, span_str(reader->core.source->group));
	digest_part(&digest, span_str(parting));
	digest_end(&digest, hash);
	memcpy(&class, hash, sizeof class);
	return class;
}

/* Of the third statement of a new connection. */
static void
columns_result(void *arg, unsigned statement, const PGresult *result)
{
	struct postgres_reader *reader = arg;
	const struct conf_source *s = reader->core.source;
	const struct conf_columns *c = &s->columns;
	if (statement != 2)
		return;
	reader->no_order = false;
	reader->wrong = what_is_wrong(reader, result);
	if (reader->wrong != NULL)
		return;
	int id = find(result, c->id);
	int order = c->order != NULL ? find(result, c->order) : id;
	int payload = find(result, c->payload);
	int finish = find(result, s->finish.column);
	const struct postgres_types types = {
	    .id = postgres_pipe_value(result, id, SQL_TYPE),
	    .order = postgres_pipe_value(result, order, SQL_TYPE),
	    .finish = finish >= 0
		? postgres_pipe_value(result, finish, SQL_TYPE)
		: SPAN(""),
	    .payload = postgres_pipe_value(result, payload, SQL_BASE),
	    .bytes = span_eq(postgres_pipe_value(result, payload, SQL_KIND),
		SPAN("bytea")),
	    .rises = c->order != NULL || is_one_of(numbers, result, id),
	    .has_time = c->order != NULL && is_one_of(times, result, order),
	};
	/* Of ids of another type no row of the table has those in flight. */
	for (unsigned i = 0; i < POSTGRES_PARTS; i++)
		if (!span_eq(span_str(reader->id_type), types.id))
			reader_flight_recall(
			    &reader->core, &reader->parts.is[i]);
	snprintf(reader->id_type, sizeof reader->id_type, "%.*s",
	    SPAN_FMT(types.id));
	reader->sql = postgres_sql_make(
	    reader->arena, s, &types, reader->core.most_bytes);
	snprintf(reader->parts.class, sizeof reader->parts.class, "%d",
	    (int)class_of(reader, postgres_pipe_value(result, 0, SQL_TABLE)));
}

/* --- setting a connection up --- */

/* The first statements of what is prepared. */
enum { MAKE_DEAD, ASK_ORIGIN, MAKE_RESULTS };

static void
prepare_result(void *arg, unsigned statement, const PGresult *result)
{
	struct postgres_reader *reader = arg;
	if (statement == ASK_ORIGIN)
		reader_origin(&reader->core, postgres_pipe_value(result, 0, 0));
}

static void
prepare_ended(void *arg, const struct postgres_trouble *trouble)
{
	struct postgres_reader *reader = arg;
	struct broker_reader *core = &reader->core;
	const char *made = trouble == NULL || trouble->lost ? NULL
	    : trouble->statement == MAKE_DEAD	 ? core->source->dead_letters
	    : trouble->statement == MAKE_RESULTS ? core->source->results
						 : NULL;
	if (made != NULL) {
		postgres_pipe_refuse(reader->pipe,
		    arena_printf(reader->arena,
			"the table %.80s is not there and cannot be made: %s",
			made, trouble->words)
			.ptr);
		return;
	}
	if (postgres_distrust(reader, trouble))
		return;
	postgres_pipe_ready(reader->pipe);
	reader->up = true;
	reader_trouble_back(core);
	postgres_parts_look(reader);
}

/*
 * A take of no rows, and the finish of none, show at once whether the table may
 * be read and rows be finished.
 */
static void
columns_ended(void *arg, const struct postgres_trouble *trouble)
{
	struct postgres_reader *reader = arg;
	struct postgres_pipe *pipe = reader->pipe;
	const struct postgres_sql *sql = &reader->sql;
	const struct span source = span_str(reader->core.source->name);
	const struct span no_rows[] = {SPAN("0"), SPAN("{}"), POSTGRES_NULL,
	    SPAN("0"), POSTGRES_NULL, POSTGRES_NULL};
	const struct span no_row[] = {POSTGRES_NULL, POSTGRES_NULL};
	if (postgres_distrust(reader, trouble))
		return;
	if (reader->wrong != NULL) {
		postgres_pipe_refuse(pipe, reader->wrong);
		return;
	}
	postgres_pipe_begin(pipe, prepare_result, prepare_ended, reader);
	postgres_pipe_query(pipe, sql->make_dead, NULL, 0);
	postgres_pipe_query(pipe, sql->origin, &source, 1);
	if (sql->make_results != NULL) {
		postgres_pipe_query(pipe, sql->make_results, NULL, 0);
		postgres_pipe_prepare(
		    pipe, "finish_result", sql->finish_result);
	}
	postgres_pipe_prepare(pipe, "finish_dead", sql->finish_dead);
	postgres_pipe_prepare(pipe, "finish", sql->finish);
	postgres_pipe_prepare(pipe, "take_start", sql->take_start);
	postgres_pipe_prepare(pipe, "take_above", sql->take_above);
	postgres_pipe_run(pipe, "take_start", no_rows, 6);
	postgres_pipe_run(pipe, "finish", no_row, 2);
	if (sql->listen != NULL)
		postgres_pipe_query(pipe, sql->listen, NULL, 0);
	postgres_pipe_end(pipe);
}

static void
connection_made(void *arg)
{
	struct postgres_reader *reader = arg;
	uint8_t mark[POSTGRES_MARK_BYTES];
	random_bytes(mark, sizeof mark);
	hex_encode(mark, sizeof mark, reader->mark);
	const struct span session = span_str(reader->mark);
	reader->arena = arena_new();
	struct postgres_pipe *pipe = reader->pipe;
	const struct span table = span_str(
	    postgres_name_table(reader->arena, reader->core.source->table));
	postgres_pipe_begin(pipe, columns_result, columns_ended, reader);
	postgres_pipe_query(pipe, postgres_sql_settings, NULL, 0);
	postgres_pipe_query(pipe, postgres_sql_session, &session, 1);
	postgres_pipe_query(pipe, columns_sql, &table, 1);
	postgres_pipe_end(pipe);
}

static void
drop_all(struct postgres_reader *reader)
{
	arena_free(&reader->arena);
	postgres_take_down(reader);
	postgres_parts_down(reader);
	reader_trouble_end(&reader->core, POSTGRES_TO_PUT, NULL);
	reader_finish_unreachable(&reader->core);
}

static void
connection_down(void *arg, const char *why, bool refused)
{
	struct postgres_reader *reader = arg;
	struct flight *row;
	/* Others may finish what was taken over it. */
	LIST_EACH(row, &reader->core.in_flight, of_reader)
		row->unsure = true;
	if (!refused)
		reader->no_order = false;
	drop_all(reader);
	reader->up = false;
	reader_trouble_away(&reader->core, why, refused);
}

/* --- how many rows are unread --- */

static void
counted(void *arg, unsigned statement, const PGresult *result)
{
	struct postgres_reader *reader = arg;
	int64_t unread = postgres_pipe_number(result, 0, 0);
	int64_t in_flight = (int64_t)reader->core.by_position.count;
	(void)statement;
	reader->lag = unread > in_flight ? unread - in_flight : 0;
}

static void
count_ended(void *arg, const struct postgres_trouble *trouble)
{
	struct postgres_reader *reader = arg;
	reader->counting_now = false;
	if (trouble != NULL)
		reader->lag = -1;
	reader_changed(&reader->core);
}

/* --- the driver --- */

static void
take(struct broker_reader *core)
{
	struct postgres_reader *reader = (struct postgres_reader *)core;
	if (!postgres_pipe_is_ready(reader->pipe))
		return;
	postgres_take_go_on(reader);
	/* And now and then how many are unread. */
	int64_t now_ms = loop_now_ms(core->loop);
	if (reader->counting_now ||
	    now_ms - reader->counted_ms < COUNT_EVERY_MS)
		return;
	reader->counting_now = true;
	reader->counted_ms = now_ms;
	postgres_pipe_begin(reader->pipe, counted, count_ended, reader);
	postgres_pipe_query(reader->pipe, reader->sql.count, NULL, 0);
	postgres_pipe_end(reader->pipe);
}

static void
open_postgres(struct broker_reader *core)
{
	struct postgres_reader *reader = (struct postgres_reader *)core;
	const struct postgres_pipe_events events = {
	    connection_made, postgres_take_wake, connection_down, reader};
	reader->lag = -1;
	reader->counted_ms = -COUNT_EVERY_MS;
	timer_init(&reader->take.poll, core->loop, postgres_take_wake, reader);
	timer_init(
	    &reader->parts.look, core->loop, postgres_parts_look, reader);
	postgres_take_down(reader);
	reader->pipe = postgres_pipe_new(core->loop, core->source->broker,
	    core->instance, &events, NULL);
}

/* Its locks end with its connection, and nothing else is given back. */
static void
free_postgres(struct broker_reader *core)
{
	struct postgres_reader *reader = (struct postgres_reader *)core;
	postgres_pipe_free(&reader->pipe);
	drop_all(reader);
}

static bool
leave(struct broker_reader *core)
{
	free_postgres(core);
	return true;
}

static void
give_back(struct broker_reader *core, struct flight *flight)
{
	(void)flight;
	/* It stands before those that wait. */
	((struct postgres_reader *)core)->take.from_start = true;
	reader_flight_forget_queue(core);
	reader_kick(core);
}

static void
read_health(const struct broker_reader *core, struct broker_health *ret_health)
{
	const struct postgres_reader *reader =
	    (const struct postgres_reader *)core;
	ret_health->up = reader->up || reader->no_order;
	ret_health->no_order = reader->no_order;
	if (reader->up)
		ret_health->lag = reader->lag;
	ret_health->rebalances = reader->parts.changes;
}

const struct driver postgres_driver = {
    .reader_bytes = sizeof(struct postgres_reader),
    .flight_bytes = sizeof(struct postgres_row),
    .finishing_bytes = sizeof(struct postgres_finishing),
    .open = open_postgres,
    .leave = leave,
    .free = free_postgres,
    .take = take,
    .finish = postgres_finish_send_all,
    .give_back = give_back,
    .copies = postgres_row_copies,
    .health = read_health,
};
