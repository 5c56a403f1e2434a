/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "messages/broker/postgres/postgres_sql.h"
#include "store/postgres/postgres_name.h"

/* A page of dead letters has so many bytes besides its first one. */
#define PAGE_BYTES "4194304"
/* Of an entity or a type: longer ones are no names. */
#define NAME_BYTES "8192"
/* How far unread rows are counted. */
#define COUNT_MOST "100000"

/* A text that is made as printf does, in the arena. */
#define MADE(arena, ...) (arena_printf(arena, __VA_ARGS__).ptr)

/*
 * Settings of the session, as far as the server knows them.  No statement lasts
 * longer than the pipe waits, and no network is gone for long before the
 * session is.
 */
const char postgres_sql_settings[] =
    "SELECT set_config(v.name, v.value, false) FROM (VALUES "
    "('statement_timeout', '5000'), ('lock_timeout', '2000'), "
    "('idle_in_transaction_session_timeout', '10000'), "
    "('tcp_keepalives_idle', '5'), "
    "('tcp_keepalives_interval', '2'), ('tcp_keepalives_count', '3'), "
    "('tcp_user_timeout', '10000'), ('DateStyle', 'ISO'), "
    "('TimeZone', 'UTC'), ('extra_float_digits', '3'), "
    "('IntervalStyle', 'postgres'), ('client_min_messages', 'error'), "
    "('standard_conforming_strings', 'on'), "
    "('default_transaction_isolation', 'read committed')) "
    "AS v (name, value) WHERE v.name IN (SELECT name FROM pg_settings)";

/*
 * It has the mark $1.  A reader asks each second: one that is frozen loses its
 * session, and with it its parts, to others.
 */
const char postgres_sql_session[] =
    "SELECT set_config('onceproxy.reader', $1::text, false) UNION ALL "
    "SELECT set_config(name, '20000', false) FROM pg_settings "
    "WHERE name = 'idle_session_timeout'";

/* --- tables --- */

/*
 * It is looked for first, because to make a table one must have the right to,
 * even where it is there; and two that make one at once fail, unless one waits.
 */
const char *
postgres_sql_make_table(
    struct arena *arena, const char *table, const char *columns)
{
	const char *name = postgres_name_table(arena, table);
	struct span text = postgres_name_quoted(arena, span_str(name), '\'');
	struct span body = arena_printf(arena,
	    "BEGIN PERFORM pg_advisory_xact_lock(1869505377, 1); "
	    "IF to_regclass(%s) IS NULL THEN CREATE TABLE %s %s; END IF; END",
	    text.ptr, name, columns);
	return MADE(
	    arena, "DO %s", postgres_name_quoted(arena, body, '\'').ptr);
}

/* --- what a row has --- */

struct maker {
	struct arena *arena;
	const struct conf_source *source;
	const struct postgres_types *types;
	size_t most;
	/* As SQL has them; the table is t in every statement. */
	const char *table, *id, *order, *unread, *part, *row, *version, *same;
	const char *entity, *type, *headers, *payload, *dead;
};

static const char *
column(const struct maker *m, const char *name)
{
	return MADE(m->arena, "t.%s", postgres_name_of(m->arena, name).ptr);
}

static const char *
text_of(const struct maker *m, const char *name)
{
	return name == NULL ? "NULL::text"
			    : MADE(m->arena, "%s::text", column(m, name));
}

/* What tells an unread row, or what makes it a read one, of a column. */
static const char *
value_of(const struct maker *m, const char *value)
{
	return MADE(m->arena, "%s::%.*s",
	    postgres_name_quoted(m->arena, span_str(value), '\'').ptr,
	    SPAN_FMT(m->types->finish));
}

/*
 * The part of a row: by the entity where that is what orders, so that one
 * reader has all of an entity; by the id where nothing does.  All other orders
 * are not the server's to know: one part.  PostgreSQL lays hash-partitioned
 * tables out by hashtextextended, so its values stay what they are.
 */
static bool
has_parts(const struct conf_source *source)
{
	return source->order_by == SOURCE_ORDER_ENTITY ||
	    source->order_by == SOURCE_ORDER_NONE;
}

/*
 * The version is of what the message is made of: a row of which something else
 * was written is the same message still, and keeps its place among those of its
 * order.  The number of whoever wrote it (xmin) would tell it from that, and be
 * there again after a failover that lost the last transactions, for another
 * row.
 */
static struct maker
maker_of(struct arena *arena, const struct conf_source *source,
    const struct postgres_types *types, size_t most_bytes)
{
	struct maker m = {.arena = arena,
	    .source = source,
	    .types = types,
	    .most = most_bytes};
	const struct conf_columns *c = &source->columns;
	const struct conf_finish *f = &source->finish;
	m.table = postgres_name_table(arena, source->table);
	m.dead = postgres_name_table(arena, source->dead_letters);
	m.id = column(&m, c->id);
	m.order = c->order == NULL ? m.id : column(&m, c->order);
	m.entity = text_of(&m, c->entity);
	m.type = text_of(&m, c->type);
	m.headers = text_of(&m, c->headers);
	m.payload = text_of(&m, c->payload);
	m.unread = f->column == NULL ? "true"
	    : f->from == NULL
	    ? MADE(arena, "%s IS NULL", column(&m, f->column))
	    : MADE(arena, "%s = %s", column(&m, f->column),
		  value_of(&m, f->from));
	m.part = has_parts(source)
	    ? MADE(arena,
		  "(hashtextextended(coalesce(%s::text, ''), 0) & %d)::int",
		  source->order_by == SOURCE_ORDER_ENTITY ? m.entity : m.id,
		  POSTGRES_PARTS - 1)
	    : "0";
	m.row = MADE(
	    arena, "%s = $1::text::%.*s", m.id, SPAN_FMT(types->id));
	m.version = MADE(arena,
	    "hashtextextended(concat_ws(chr(31), %s, %s, %s, %s), 0)::text",
	    m.entity, m.type, m.headers, m.payload);
	m.same = MADE(arena, "%s AND coalesce(%s = $2::text, true)",
	    m.unread, m.version);
	return m;
}

/* --- taking --- */

/*
 * In the order of enum postgres_column, no value that is too large, and no more
 * of those rows than begin within so many bytes.
 */
static const char *
within(const struct maker *m, const char *rows, const char *bytes)
{
	size_t most = m->most;
	return MADE(m->arena,
	    "SELECT id, ord, part::text, beyond::text, "
	    "CASE WHEN octet_length(entity) <= " NAME_BYTES " THEN entity END, "
	    "CASE WHEN octet_length(type) <= " NAME_BYTES " THEN type END, "
	    "made, CASE WHEN octet_length(headers) <= %zu THEN headers END, "
	    "CASE WHEN octet_length(payload) <= %zu THEN payload END, "
	    "coalesce(greatest(octet_length(payload), octet_length(headers)) "
	    "> %zu OR greatest(octet_length(entity), octet_length(type)) > "
	    NAME_BYTES ", false)::text, n::text, version "
	    "FROM (SELECT r.*, count(*) OVER () AS n, sum("
	    "least(coalesce(octet_length(payload), 0), %zu) + "
	    "least(coalesce(octet_length(headers), 0), %zu)) OVER "
	    "(ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before "
	    "FROM (%s) AS r) AS s WHERE before IS NULL OR before < %s",
	    most, most, most, most, most, rows, bytes);
}

/* Whether a row is behind a place; both of its columns may be in one index. */
static const char *
behind(const struct maker *m, unsigned id, unsigned order)
{
	const struct postgres_types *t = m->types;
	if (m->source->columns.order == NULL)
		return MADE(m->arena,
		    "(%s > $%u::text::%.*s AND $%u::text IS NOT NULL)", m->id,
		    id, SPAN_FMT(t->id), order);
	return MADE(m->arena, "(%s, %s) > ($%u::text::%.*s, $%u::text::%.*s)",
	    m->order, m->id, order, SPAN_FMT(t->order), id, SPAN_FMT(t->id));
}

/*
 * "NOT IN (SELECT …)" is a filter by hash, which leaves the index its order.
 * The payload fails where it has another type by now: of a bytea the text is
 * its hex.
 */
static const char *
take_of(const struct maker *m, const char *where)
{
	const struct postgres_types *t = m->types;
	const char *payload = column(m, m->source->columns.payload);
	/* In ms, of an order that is a time; there are infinite ones. */
	const char *time = !t->has_time
	    ? "NULL"
	    : MADE(m->arena,
		  "CASE WHEN isfinite(%s) THEN "
		  "(extract(epoch FROM %s) * 1000)::bigint::text END",
		  m->order, m->order);
	if (!t->bytes)
		payload = t->payload.ptr == NULL
		    ? m->payload
		    : MADE(m->arena, "coalesce(%s, NULL::%.*s)::text", payload,
			  SPAN_FMT(t->payload));
	const char *rows = MADE(m->arena,
	    "SELECT %s::text AS id, %s::text AS ord, %s AS part, "
	    "coalesce(%s, true) AS beyond, %s AS entity, %s AS type, "
	    "%s AS made, %s AS headers, %s AS payload, %s AS version "
	    "FROM %s AS t WHERE %s AND %s IS NOT NULL AND %s "
	    "AND ($3::text IS NULL OR %s = ANY ($3::text::int[])) "
	    "AND %s NOT IN (SELECT unnest($2::text::%.*s[])) "
	    "ORDER BY %s, %s LIMIT $1::text::bigint",
	    m->id, m->order, m->part, behind(m, 5, 6), m->entity, m->type,
	    time, m->headers, payload, m->version, m->table, m->unread, m->id,
	    where, m->part, m->id, SPAN_FMT(t->id), m->order, m->id);
	return within(m, rows, "$4::text::bigint");
}

/* --- finishing --- */

/*
 * One statement, so that all of it happens or nothing: what is put is put only
 * where the row was unread until now, and has the bytes that were taken.  What
 * it says of others may be out of date.
 */
static const char *
finish_of(const struct maker *m, const char *put, const char *returned)
{
	const struct conf_finish *f = &m->source->finish;
	const char *how = f->column == NULL
	    ? MADE(m->arena, "DELETE FROM %s AS t", m->table)
	    : MADE(m->arena, "UPDATE %s AS t SET %s = %s", m->table,
		  postgres_name_of(m->arena, f->column).ptr,
		  f->from == NULL ? "now()" : value_of(m, f->to));
	return MADE(m->arena,
	    "WITH done AS (%s WHERE %s AND %s RETURNING %s)%s "
	    "SELECT CASE WHEN EXISTS (SELECT FROM done) THEN 'done' "
	    "ELSE coalesce((SELECT CASE WHEN %s THEN 'kept' ELSE 'anew' END "
	    "FROM %s AS t WHERE %s LIMIT 1), 'gone') END",
	    how, m->row, m->same, returned, put, m->same, m->table, m->row);
}

static const char *
put_result(const struct maker *m, const char *from)
{
	return MADE(m->arena,
	    ", put AS (INSERT INTO %s "
	    "(id, status, headers, body, key_id, created) "
	    "SELECT $3::text, $4::text::int, $5::text::json, $6::bytea, "
	    "$7::text, now() %s)",
	    postgres_name_table(m->arena, m->source->results), from);
}

static const char put_dead[] =
    ", put AS (INSERT INTO %s "
    "(id, entity, type, payload, headers, created) "
    "SELECT $3::text, entity, type, body, "
    "CASE WHEN more IS NULL THEN $7::text::json "
    "ELSE (CASE WHEN jsonb_typeof(more) = 'object' THEN more "
    "ELSE jsonb_build_object('headers', more::text) END "
    "|| $7::text::jsonb)::json END, now() FROM done)";

static const char *
mark_of(const struct maker *m, const char *put)
{
	return MADE(m->arena,
	    "WITH done AS (DELETE FROM %s AS d WHERE d.id = $1::text "
	    "AND d.headers->>'onceproxy-source' = $2::text RETURNING 1)%s "
	    "SELECT 'done'",
	    m->dead, put);
}

/* --- dead letters, and what else is asked --- */

static const char result_columns[] =
    "(id text PRIMARY KEY, status int, headers json NOT NULL, body bytea, "
    "key_id text, created timestamptz NOT NULL DEFAULT now())";
/* The number keeps the order in which they died. */
static const char dead_columns[] =
    "(number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
    "id text NOT NULL, entity text, type text, payload bytea, "
    "headers json NOT NULL, created timestamptz NOT NULL DEFAULT now())";

static void
make_dead(const struct maker *m, struct postgres_sql *sql)
{
	const char *payload = m->types->bytes
	    ? column(m, m->source->columns.payload)
	    : MADE(m->arena, "convert_to(%s, 'UTF8')", m->payload);
	/*
	 * What it has: what is given, or, of a row that was too large to be
	 * taken, what is there.  more: its headers, where they were.
	 */
	const char *returned = MADE(m->arena,
	    "CASE WHEN $8::text = 'whole' THEN %s ELSE $6::bytea END AS body, "
	    "CASE WHEN $8::text = 'whole' THEN %s ELSE $4::text END AS entity, "
	    "CASE WHEN $8::text = 'whole' THEN %s ELSE $5::text END AS type, "
	    "CASE WHEN $8::text = 'whole' AND octet_length(%s) > %zu "
	    "THEN (%s)::jsonb END AS more",
	    payload, m->entity, m->type, m->headers, m->most, m->headers);
	/*
	 * Whoever has only its letter, and no version of it, acknowledges what
	 * that has: the row may have been written anew, or be another one.
	 */
	struct maker own = *m;
	own.same = MADE(m->arena,
	    "%s AND coalesce(%s = $2::text, $8::text = 'whole' OR "
	    "(coalesce(%s, '') = coalesce($4::text, '') AND "
	    "coalesce(%s, '') = coalesce($5::text, '') AND "
	    "%s IS NOT DISTINCT FROM $6::bytea))",
	    m->unread, m->version, m->entity, m->type, payload);
	sql->make_dead = postgres_sql_make_table(
	    m->arena, m->source->dead_letters, dead_columns);
	sql->finish_dead =
	    finish_of(&own, MADE(m->arena, put_dead, m->dead), returned);
	sql->mark = mark_of(m, "");
	sql->origin = MADE(m->arena,
	    "SELECT d.headers->>'onceproxy-store' FROM %s AS d "
	    "WHERE d.headers->>'onceproxy-source' = $1::text "
	    "ORDER BY d.number DESC LIMIT 1",
	    m->dead);
	const char *copies = MADE(m->arena,
	    "SELECT d.id::text AS id, d.number::text AS ord, 0 AS part, "
	    "true AS beyond, "
	    "d.entity, d.type, NULL AS made, d.headers::text AS headers, "
	    "d.payload, NULL AS version FROM %s AS d "
	    "WHERE d.number > $1::text::bigint "
	    "AND d.headers->>'onceproxy-source' = $2::text "
	    "ORDER BY d.number LIMIT $3::text::bigint",
	    m->dead);
	sql->copies = within(m, copies, PAGE_BYTES);
}

struct postgres_sql
postgres_sql_make(struct arena *arena, const struct conf_source *source,
    const struct postgres_types *types, size_t most_bytes)
{
	struct maker m = maker_of(arena, source, types, most_bytes);
	struct postgres_sql sql = {
	    .parts = has_parts(source) ? POSTGRES_PARTS : 1,
	    .rises = types->rises};
	sql.take_start = take_of(&m, "true");
	sql.take_above = take_of(&m, behind(&m, 7, 8));
	sql.finish = finish_of(&m, "", "1");
	make_dead(&m, &sql);
	if (source->results != NULL) {
		sql.make_results = postgres_sql_make_table(
		    arena, source->results, result_columns);
		sql.finish_result =
		    finish_of(&m, put_result(&m, "FROM done"), "1");
		sql.mark_result =
		    mark_of(&m, put_result(&m, "ON CONFLICT DO NOTHING"));
	}
	sql.count = MADE(arena,
	    "SELECT count(*)::text FROM "
	    "(SELECT FROM %s AS t WHERE %s LIMIT " COUNT_MOST ") AS s",
	    m.table, m.unread);
	if (source->notify != NULL)
		sql.listen = MADE(arena, "LISTEN %s",
		    postgres_name_of(arena, source->notify).ptr);
	return sql;
}
