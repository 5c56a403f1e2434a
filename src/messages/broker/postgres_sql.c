/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "messages/broker/postgres_hand.h"
#include "messages/broker/postgres_name.h"
#include "messages/broker/postgres_sql.h"

/*
 * A take brings at most so many bytes besides its first row: the rest comes
 * with the next one.
 */
#define TAKE_BYTES "4194304"
/* Of an entity or a type: longer ones are no names. */
#define NAME_BYTES "8192"
/* Of an id; an index takes no longer ones. */
#define ID_BYTES "4096"
/* How far unread rows are counted. */
#define COUNT_MOST "100000"

struct maker {
	struct arena *arena;
	const struct conf_source *source;
	const struct postgres_types *types;
	const char *table, *id, *order, *unread, *part;
};

/*
 * Settings of the session, as far as the server knows them.  No statement lasts
 * longer than the pipe waits; a gateway that is frozen, or whose network is
 * gone, loses its session, and with it its parts and locks, to others.
 */
const char postgres_sql_settings[] =
    "SELECT set_config(v.name, v.value, false) FROM (VALUES "
    "('statement_timeout', '5000'), ('lock_timeout', '2000'), "
    "('idle_in_transaction_session_timeout', '10000'), "
    "('idle_session_timeout', '20000'), ('tcp_keepalives_idle', '5'), "
    "('tcp_keepalives_interval', '2'), ('tcp_keepalives_count', '3'), "
    "('tcp_user_timeout', '10000'), ('DateStyle', 'ISO'), "
    "('TimeZone', 'UTC'), ('extra_float_digits', '3'), "
    "('IntervalStyle', 'postgres'), ('client_min_messages', 'error'), "
    "('default_transaction_isolation', 'read committed')) "
    "AS v (name, value) WHERE v.name IN (SELECT name FROM pg_settings)";

/* A column of the table, which is t in every statement. */
static const char *
column(struct arena *arena, const char *name)
{
	struct span q = postgres_name_quoted(arena, span_str(name));
	return arena_printf(arena, "t.%.*s", SPAN_FMT(q)).ptr;
}

/*
 * The part of a row: by the entity where that is what orders, so that one
 * reader has all of an entity; by the id where nothing does.  All other orders
 * are not the server's to know: one part.  PostgreSQL lays hash-partitioned
 * tables out by hashtextextended, so its values stay what they are.
 */
static const char *
part_of(const struct maker *m)
{
	const char *by = m->id;
	if (m->source->order_by == SOURCE_ORDER_ENTITY &&
	    m->source->columns.entity != NULL)
		by = column(m->arena, m->source->columns.entity);
	else if (m->source->order_by != SOURCE_ORDER_NONE)
		return "0";
	return arena_printf(m->arena,
	    "(hashtextextended(coalesce(%s::text, ''), 0) & %d)::int", by,
	    POSTGRES_PARTS - 1)
	    .ptr;
}

static unsigned
parts_of(const struct conf_source *source)
{
	bool by_entity = source->order_by == SOURCE_ORDER_ENTITY &&
	    source->columns.entity != NULL;
	return by_entity || source->order_by == SOURCE_ORDER_NONE ?
	    POSTGRES_PARTS :
	    1;
}

/*
 * "The row is behind the place", whose order and id are these parameters; both
 * columns may be in one index.
 */
static const char *
behind(const struct maker *m, unsigned id, unsigned order)
{
	const struct postgres_types *t = m->types;
	if (m->source->columns.order == NULL)
		return arena_printf(m->arena, "%s > $%u::text::%.*s", m->id,
		    id, SPAN_FMT(t->id))
		    .ptr;
	return arena_printf(m->arena,
	    "(%s, %s) > ($%u::text::%.*s, $%u::text::%.*s)", m->order, m->id,
	    order, SPAN_FMT(t->order), id, SPAN_FMT(t->id))
	    .ptr;
}

static const char *
ahead(const struct maker *m, unsigned id, unsigned order)
{
	return arena_printf(m->arena,
	    "(%s IS NOT NULL AND coalesce(%s, true))", m->order,
	    behind(m, id, order))
	    .ptr;
}

/* ms since 1970, of an order that is a time; there are infinite ones. */
static const char *
time_of(const struct maker *m)
{
	if (!m->types->has_time)
		return "NULL";
	return arena_printf(m->arena,
	    "CASE WHEN isfinite(%s) THEN "
	    "(extract(epoch FROM %s) * 1000)::bigint::text END",
	    m->order, m->order)
	    .ptr;
}

static const char *
text_of(const struct maker *m, const char *name)
{
	if (name == NULL)
		return "NULL::text";
	return arena_printf(m->arena, "%s::text", column(m->arena, name)).ptr;
}

/* Fails where it has another type by now: of a bytea the text is its hex. */
static const char *
payload_of(const struct maker *m)
{
	const char *payload = column(m->arena, m->source->columns.payload);
	if (m->types->bytes || m->types->payload.ptr == NULL)
		return m->types->bytes ? payload :
					 text_of(m, m->source->columns.payload);
	return arena_printf(m->arena, "coalesce(%s, NULL::%.*s)::text",
	    payload, SPAN_FMT(m->types->payload))
	    .ptr;
}

/*
 * What the message is made of: a row of which something else was written is the
 * same message still, and keeps its place among those of its order.  The number
 * of whoever wrote it (xmin) would tell it from that, and be there again after
 * a failover that lost the last transactions, for another row.
 */
static const char *
version_of(const struct maker *m)
{
	const struct conf_columns *c = &m->source->columns;
	return arena_printf(m->arena,
	    "hashtextextended(concat_ws(chr(31), %s, %s, %s, %s), 0)::text",
	    text_of(m, c->entity), text_of(m, c->type), text_of(m, c->headers),
	    text_of(m, c->payload))
	    .ptr;
}

/* What a take gives of a row, before it is cut to size. */
static const char *
row_columns(const struct maker *m, const char *is_ahead)
{
	const struct conf_columns *c = &m->source->columns;
	return arena_printf(m->arena,
	    "%s::text AS id, %s::text AS ord, %s AS part, "
	    "%s AS ahead, %s AS entity, %s AS type, %s AS made, "
	    "%s AS headers, %s AS payload, %s AS version", m->id, m->order,
	    m->part, is_ahead, text_of(m, c->entity), text_of(m, c->type),
	    time_of(m), text_of(m, c->headers), payload_of(m), version_of(m))
	    .ptr;
}

/* Is the row $1. */
static const char *
is_row(const struct maker *m)
{
	return arena_printf(m->arena, "%s = $1::text::%.*s", m->id,
	    SPAN_FMT(m->types->id))
	    .ptr;
}

/* Is unread, and has the bytes that were taken, if $2 says which. */
static const char *
is_as_taken(const struct maker *m)
{
	return arena_printf(m->arena,
	    "%s AND coalesce(%s = $2::text, true)", m->unread, version_of(m))
	    .ptr;
}

static const char *
row_again(const struct maker *m)
{
	return arena_printf(m->arena, "SELECT %s FROM %s AS t WHERE %s AND %s",
	    row_columns(m, "false"), m->table, is_row(m), is_as_taken(m))
	    .ptr;
}

/*
 * The rows themselves: $1 how many, $2 those in hand, $3 the parts (null: all).
 * "NOT IN (SELECT …)" is a filter by hash, which leaves the index its order.
 */
static const char *
rows_of(const struct maker *m, const char *above, const char *is_ahead)
{
	return arena_printf(m->arena,
	    "SELECT %s FROM %s AS t WHERE %s AND %s IS NOT NULL AND %s "
	    "AND ($3::text IS NULL OR %s = ANY ($3::text::int[])) "
	    "AND %s NOT IN (SELECT unnest($2::text::%.*s[])) "
	    "ORDER BY %s, %s LIMIT $1::text::bigint",
	    row_columns(m, is_ahead), m->table, m->unread, m->id, above,
	    m->part, m->id, SPAN_FMT(m->types->id), m->order, m->id)
	    .ptr;
}

/* In the order of enum postgres_column; no value that is too large. */
static const char *
within_limits(const struct maker *m, const char *rows, size_t most)
{
	return arena_printf(m->arena,
	    "SELECT CASE WHEN octet_length(id) <= " ID_BYTES " THEN id END, "
	    "ord, part::text, ahead::text, "
	    "CASE WHEN octet_length(entity) <= " NAME_BYTES " THEN entity END, "
	    "CASE WHEN octet_length(type) <= " NAME_BYTES " THEN type END, "
	    "made, CASE WHEN octet_length(headers) <= %zu THEN headers END, "
	    "CASE WHEN octet_length(payload) <= %zu THEN payload END, "
	    "coalesce(greatest(octet_length(payload), octet_length(headers)) "
	    "> %zu OR greatest(octet_length(entity), octet_length(type)) > "
	    NAME_BYTES ", false)::text, (payload IS NULL)::text, n::text, "
	    "version "
	    "FROM (SELECT r.*, count(*) OVER () AS n, sum("
	    "least(coalesce(octet_length(payload), 0), %zu) + "
	    "least(coalesce(octet_length(headers), 0), %zu)) OVER "
	    "(ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before "
	    "FROM (%s) AS r) AS s "
	    "WHERE before IS NULL OR before < " TAKE_BYTES,
	    most, most, most, most, most, rows)
	    .ptr;
}

static bool
may_lock(const struct postgres_types *types)
{
	return types->versioned && types->lockable;
}

/* Locks the row unless somebody else has; all, where that cannot be done. */
static const char *
free_rows(const struct maker *m, const char *row, const char *same)
{
	if (!may_lock(m->types))
		return "SELECT";
	return arena_printf(m->arena,
	    "SELECT FROM %s AS t WHERE %s AND %s FOR %s SKIP LOCKED", m->table,
	    row, same, m->source->finish_column != NULL ? "NO KEY UPDATE" :
							  "UPDATE")
	    .ptr;
}

/*
 * One statement, so that all of it happens or nothing: what is put is put only
 * where the row was unread until now, and has the bytes that were taken ($2,
 * null where they are not known).  It gives how many rows that were, and where
 * it was none, whether the row is there: "locked" is one that somebody else has
 * locked, "kept" one that could have been finished.  Of what others do
 * meanwhile that may be out of date.
 */
static const char *
finish_of(const struct maker *m, const char *put, const char *returned)
{
	const char *row = is_row(m), *same = is_as_taken(m);
	const char *set = m->source->finish_column;
	const char *how =
	    arena_printf(m->arena, "DELETE FROM %s AS t", m->table).ptr;
	if (set != NULL) {
		struct span name =
		    postgres_name_quoted(m->arena, span_str(set));
		how = arena_printf(m->arena, "UPDATE %s AS t SET %.*s = now()",
		    m->table, SPAN_FMT(name))
			  .ptr;
	}
	return arena_printf(m->arena,
	    "WITH free AS (%s), done AS (%s WHERE %s AND %s "
	    "AND EXISTS (SELECT FROM free) RETURNING %s)%s "
	    "SELECT (SELECT count(*) FROM done)::text, "
	    "CASE WHEN EXISTS (SELECT FROM done) THEN 'true' ELSE "
	    "coalesce((SELECT CASE WHEN NOT (%s) THEN 'true' "
	    "WHEN EXISTS (SELECT FROM free) THEN 'kept' ELSE 'locked' END "
	    "FROM %s AS t WHERE %s LIMIT 1), 'false') END",
	    free_rows(m, row, same), how, row, same, returned, put, same,
	    m->table, row)
	    .ptr;
}

/* What a row or a dead letter has, each as text, but payload as bytes. */
struct there {
	const char *payload, *entity, *type, *headers;
};

/*
 * What a dead letter has: what is given, or, of what was too large to be taken,
 * what is there.  more: its headers, where they were.
 */
static const char *
dead_returned(const struct maker *m, const struct there *there, size_t most)
{
	return arena_printf(m->arena,
	    "CASE WHEN $8::text = 'whole' THEN %s ELSE $6::bytea END AS body, "
	    "CASE WHEN $8::text = 'whole' THEN %s ELSE $4::text END AS entity, "
	    "CASE WHEN $8::text = 'whole' THEN %s ELSE $5::text END AS type, "
	    "CASE WHEN $8::text = 'whole' AND octet_length(%s) > %zu "
	    "THEN (%s)::jsonb END AS more",
	    there->payload, there->entity, there->type, there->headers, most,
	    there->headers)
	    .ptr;
}

static const char *
whole_payload(const struct maker *m)
{
	const char *payload = column(m->arena, m->source->columns.payload);
	if (m->types->bytes)
		return payload;
	return arena_printf(
	    m->arena, "convert_to(%s::text, 'UTF8')", payload)
	    .ptr;
}

static const char *
dead_of_row(const struct maker *m, size_t most)
{
	const struct conf_columns *c = &m->source->columns;
	const struct there there = {whole_payload(m), text_of(m, c->entity),
	    text_of(m, c->type), text_of(m, c->headers)};
	return dead_returned(m, &there, most);
}

/* A dead letter, which has no version, is taken away, with what is put. */
static const char *
letter_of(const struct maker *m, const char *put, const char *returned)
{
	struct span dead =
	    postgres_name_table(m->arena, m->source->dead_letters);
	return arena_printf(m->arena,
	    "WITH done AS (DELETE FROM %.*s AS d "
	    "WHERE d.number = $1::text::bigint AND $2::text IS NULL "
	    "RETURNING %s)%s "
	    "SELECT (SELECT count(*) FROM done)::text, 'true'",
	    SPAN_FMT(dead), returned, put)
	    .ptr;
}

/*
 * In the order of enum postgres_letter: behind the number $1, of the source $2,
 * only of the id $3 (empty: of all), at most $4, and $5 "brief" without their
 * payloads.  The part of an entity's lane is that of its rows.
 */
static const char *
letters_of(const struct maker *m, size_t most)
{
	struct span dead =
	    postgres_name_table(m->arena, m->source->dead_letters);
	const char *part = "0";
	if (m->source->order_by == SOURCE_ORDER_ENTITY)
		part = arena_printf(m->arena,
		    "(hashtextextended(coalesce(d.entity, ''), 0) & %d)::int",
		    POSTGRES_PARTS - 1)
			   .ptr;
	return arena_printf(m->arena,
	    "SELECT d.number::text, d.id, d.entity, d.type, (%s)::text, "
	    "CASE WHEN octet_length(d.headers::text) <= %zu "
	    "THEN d.headers::text END, "
	    "CASE WHEN $5::text = '' AND octet_length(d.payload) <= %zu "
	    "THEN d.payload END, "
	    "coalesce(greatest(octet_length(d.payload), "
	    "octet_length(d.headers::text)) > %zu, false)::text, "
	    "(d.payload IS NULL)::text FROM %.*s AS d "
	    "WHERE d.number > $1::text::bigint "
	    "AND d.headers->>'onceproxy-source' = $2::text "
	    "AND ($3::text = '' OR d.id = $3::text) "
	    "ORDER BY d.number LIMIT $4::text::bigint",
	    part, most, most, most, SPAN_FMT(dead))
	    .ptr;
}

/* --- results and dead letters --- */

static const char *
put_result(const struct maker *m)
{
	struct span table =
	    postgres_name_table(m->arena, m->source->results);
	return arena_printf(m->arena,
	    ", put AS (INSERT INTO %.*s "
	    "(id, status, headers, body, key_id, created) "
	    "SELECT $3::text, $4::text::int, $5::text::json, $6::bytea, "
	    "$7::text, now() FROM done)",
	    SPAN_FMT(table))
	    .ptr;
}

static const char *
put_dead(const struct maker *m)
{
	struct span table =
	    postgres_name_table(m->arena, m->source->dead_letters);
	return arena_printf(m->arena,
	    ", put AS (INSERT INTO %.*s "
	    "(id, entity, type, payload, headers, created) "
	    "SELECT $3::text, entity, type, body, "
	    "CASE WHEN more IS NULL THEN $7::text::json "
	    "ELSE (CASE WHEN jsonb_typeof(more) = 'object' THEN more "
	    "ELSE jsonb_build_object('headers', more::text) END "
	    "|| $7::text::jsonb)::json END, now() FROM done)",
	    SPAN_FMT(table))
	    .ptr;
}

static struct maker
maker_of(struct arena *arena, const struct conf_source *source,
    const struct postgres_types *types)
{
	struct maker m = {.arena = arena, .source = source, .types = types};
	m.table = postgres_name_table(arena, source->table).ptr;
	m.id = column(arena, source->columns.id);
	m.order = source->columns.order == NULL ?
	    m.id :
	    column(arena, source->columns.order);
	m.unread = source->finish_column == NULL ?
	    "true" :
	    arena_printf(arena, "%s IS NULL",
		column(arena, source->finish_column))
		.ptr;
	m.part = part_of(&m);
	return m;
}

static void
make_puts(const struct maker *m, struct postgres_sql *sql, size_t most_bytes)
{
	static const struct there letter = {
	    "d.payload", "d.entity", "d.type", "d.headers::text"};
	const struct conf_source *s = m->source;
	if (s->results != NULL)
		sql->finish_result = finish_of(m, put_result(m), "1");
	if (s->dead_letters == NULL)
		return;
	sql->finish_dead =
	    finish_of(m, put_dead(m), dead_of_row(m, most_bytes));
	sql->letters = letters_of(m, most_bytes);
	sql->letter = letter_of(m, "", "1");
	sql->letter_dead =
	    letter_of(m, put_dead(m), dead_returned(m, &letter, most_bytes));
	if (s->results != NULL)
		sql->letter_result = letter_of(m, put_result(m), "1");
}

struct postgres_sql
postgres_sql_make(struct arena *arena, const struct conf_source *source,
    const struct postgres_types *types, size_t most_bytes)
{
	struct maker m = maker_of(arena, source, types);
	struct postgres_sql sql = {.parts = parts_of(source),
	    .ordered = types->ordered,
	    .waits = !may_lock(types),
	    .pair = source->columns.order != NULL};
	sql.take_start = within_limits(
	    &m, rows_of(&m, "true", ahead(&m, 4, 5)), most_bytes);
	sql.take_above = within_limits(&m,
	    rows_of(&m, behind(&m, 5, 7), ahead(&m, 4, 6)), most_bytes);
	sql.again = within_limits(&m, row_again(&m), most_bytes);
	sql.there = arena_printf(arena,
	    "SELECT (EXISTS (SELECT FROM %s AS t WHERE %s))::text", m.table,
	    is_row(&m))
			.ptr;
	sql.finish = finish_of(&m, "", "1");
	sql.count = arena_printf(arena,
	    "SELECT count(*)::text, count(*) FILTER (WHERE id IS NULL)::text "
	    "FROM (SELECT %s AS id FROM %s AS t WHERE %s "
	    "LIMIT " COUNT_MOST ") AS s",
	    m.id, m.table, m.unread)
			.ptr;
	if (source->notify != NULL) {
		struct span channel =
		    postgres_name_quoted(arena, span_str(source->notify));
		sql.listen =
		    arena_printf(arena, "LISTEN %.*s", SPAN_FMT(channel)).ptr;
	}
	sql.pending = arena_printf(arena,
	    "SELECT (EXISTS (SELECT FROM %s AS t "
	    "WHERE %s = $1::text::%.*s AND %s))::text",
	    m.table, m.id, SPAN_FMT(types->id), m.unread)
			  .ptr;
	make_puts(&m, &sql, most_bytes);
	return sql;
}
