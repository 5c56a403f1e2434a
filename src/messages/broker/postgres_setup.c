/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/digest.h"
#include "messages/broker/postgres_name.h"
#include "messages/broker/postgres_private.h"

/*
 * The table's columns; a domain is what it is made of.  And whether all its
 * rows have an xmin: those of a view, or of another server, have none.  And
 * whether we may lock them: with a right to update, and not only those that a
 * policy lets through.
 */
static const char columns_sql[] =
    "SELECT n.nspname::text || '.' || c.relname::text, a.attname::text, "
    "format_type(a.atttypid, -1), coalesce(b.typname, y.typname)::text, "
    "((c.relkind = 'p' OR (c.relkind = 'r' AND NOT c.relhassubclass)) "
    "AND NOT EXISTS (SELECT FROM pg_partition_tree(c.oid) AS p "
    "JOIN pg_class AS f ON f.oid = p.relid "
    "LEFT JOIN pg_am AS m ON m.oid = f.relam "
    "WHERE p.isleaf AND m.amname IS DISTINCT FROM 'heap'))::text, "
    "(has_any_column_privilege(c.oid, 'UPDATE') "
    "AND NOT row_security_active(c.oid))::text, "
    "CASE WHEN coalesce(b.typtype, y.typtype) <> 'd' "
    "THEN format_type(coalesce(b.oid, y.oid), -1) END "
    "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "JOIN pg_attribute a ON a.attrelid = c.oid "
    "JOIN pg_type y ON y.oid = a.atttypid "
    "LEFT JOIN pg_type b ON b.oid = y.typbasetype "
    "WHERE c.oid = $1::text::regclass AND a.attnum > 0 "
    "AND NOT a.attisdropped";

enum { STATEMENT_SETTINGS, STATEMENT_COLUMNS };

struct table_column {
	struct span type; /* as SQL writes it */
	struct span kind; /* its name in pg_type */
	struct span base; /* as SQL writes it; null: a domain of domains */
};

static struct postgres_reader *
reader_of(struct postgres_batch *batch)
{
	return CONTAINER_OF(batch, struct postgres_reader, setup);
}

/* --- what the columns are --- */

static bool
is_one_of(struct span kind, const char *const *kinds)
{
	for (; *kinds != NULL; kinds++)
		if (span_eq(kind, span_str(*kinds)))
			return true;
	return false;
}

static bool
is_number(struct span kind)
{
	static const char *const kinds[] = {
	    "int2", "int4", "int8", "numeric", NULL};
	return is_one_of(kind, kinds);
}

static bool
is_time(struct span kind)
{
	static const char *const kinds[] = {"timestamp", "timestamptz", NULL};
	return is_one_of(kind, kinds);
}

static bool
is_json(struct span kind)
{
	static const char *const kinds[] = {"json", "jsonb", NULL};
	return is_one_of(kind, kinds);
}

/*
 * member: what names it.  False: there is none of that name, and the connection
 * is down.
 */
static bool
find_column(struct postgres_reader *reader, const PGresult *result,
    const char *member, const char *name, struct table_column *ret_column)
{
	for (int i = 0; i < PQntuples(result); i++) {
		if (!span_eq(postgres_pipe_value(result, i, 1),
			span_str(name)))
			continue;
		*ret_column = (struct table_column){
		    arena_dup(
			reader->arena, postgres_pipe_value(result, i, 2)),
		    postgres_pipe_value(result, i, 3),
		    postgres_pipe_value(result, i, 6)};
		return true;
	}
	char why[240];
	snprintf(why, sizeof why,
	    "the table %.80s has no column %.80s, which is its %s",
	    reader->source->table, name, member);
	postgres_down(reader, why);
	return false;
}

/* NULL is a column that is not asked for. */
static bool
has_column(struct postgres_reader *reader, const PGresult *result,
    const char *member, const char *name)
{
	struct table_column column;
	return name == NULL ||
	    find_column(reader, result, member, name, &column);
}

static bool
headers_are_json(struct postgres_reader *reader, const PGresult *result)
{
	const char *name = reader->source->columns.headers;
	struct table_column column;
	if (name == NULL)
		return true;
	if (!find_column(reader, result, "columns.headers", name, &column))
		return false;
	if (is_json(column.kind))
		return true;
	char why[200];
	snprintf(why, sizeof why, "the column %.80s is neither json nor jsonb",
	    name);
	postgres_down(reader, why);
	return false;
}

/* Whether every id of that kind is one of the other kind as well. */
static bool
keeps_ids(struct span from, struct span to)
{
	static const char *const numbers[] = {
	    "int2", "int4", "int8", "numeric", NULL};
	static const char *const texts[] = {"text", "varchar", NULL};
	size_t at = 0;
	while (numbers[at] != NULL && !span_eq(from, span_str(numbers[at])))
		at++;
	return span_eq(from, to) || is_one_of(to, texts) ||
	    (numbers[at] != NULL && is_one_of(to, numbers + at));
}

/* Their ids would not even be read: no row of the table has them. */
static void
disown_others(struct postgres_reader *reader, struct span kind)
{
	if (!keeps_ids(span_str(reader->id_kind), kind))
		postgres_hand_disown(&reader->hand);
	snprintf(reader->id_kind, sizeof reader->id_kind, "%.*s",
	    SPAN_FMT(kind));
}

/* False: the connection is down. */
static bool
read_types(struct postgres_reader *reader, const PGresult *result,
    struct postgres_types *ret_types)
{
	const struct conf_columns *c = &reader->source->columns;
	struct table_column id, order, payload;
	if (!find_column(reader, result, "columns.id", c->id, &id) ||
	    !find_column(reader, result, "columns.order",
		c->order ? c->order : c->id, &order) ||
	    !find_column(
		reader, result, "columns.payload", c->payload, &payload) ||
	    !has_column(reader, result, "columns.entity", c->entity) ||
	    !has_column(reader, result, "columns.type", c->type) ||
	    !has_column(reader, result, "finish",
		reader->source->finish_column) ||
	    !headers_are_json(reader, result))
		return false;
	disown_others(reader, id.kind);
	*ret_types = (struct postgres_types){
	    .table = arena_dup(
		reader->arena, postgres_pipe_value(result, 0, 0)),
	    .id = id.type,
	    .order = order.type,
	    .ordered = c->order != NULL || is_number(id.kind),
	    .has_time = c->order != NULL && is_time(order.kind),
	    .bytes = span_eq(payload.kind, SPAN("bytea")),
	    .payload = payload.base,
	    .versioned =
		span_eq(postgres_pipe_value(result, 0, 4), SPAN("true")),
	    .lockable =
		span_eq(postgres_pipe_value(result, 0, 5), SPAN("true")),
	};
	return true;
}

/* --- the second batch: what is prepared --- */

/*
 * Readers that part a table in the same way meet in one class, whatever each
 * calls the table.
 */
static int32_t
class_of(const struct postgres_reader *reader,
    const struct postgres_types *types)
{
	struct digest digest;
	uint8_t hash[DIGEST_BYTES];
	char parting[40];
	snprintf(parting, sizeof parting, "%d of %u",
	    (int)reader->source->order_by, reader->sql.parts);
	digest_begin(&digest, SPAN("onceproxy outbox"), SPAN(""));
	digest_part(&digest, types->table);
	digest_part(&digest, span_str(reader->source->group));
	digest_part(&digest, span_str(parting));
	digest_end(&digest, hash);
	int32_t class;
	memcpy(&class, hash, sizeof class);
	return class;
}

static void
ignore_result(struct postgres_batch *batch, unsigned statement,
    const PGresult *result)
{
	(void)batch;
	(void)statement;
	(void)result;
}

static void
listening(struct postgres_batch *batch, const struct postgres_trouble *trouble)
{
	struct postgres_reader *reader = reader_of(batch);
	if (trouble != NULL)
		postgres_trouble(reader, trouble);
	else
		postgres_ready(reader);
}

/* By itself: what fails in the same batch would undo it, without a word. */
static void
prepared(struct postgres_batch *batch, const struct postgres_trouble *trouble)
{
	struct postgres_reader *reader = reader_of(batch);
	if (trouble != NULL) {
		postgres_trouble(reader, trouble);
		return;
	}
	if (reader->sql.listen == NULL) {
		postgres_ready(reader);
		return;
	}
	reader->setup =
	    (struct postgres_batch){.result = ignore_result, .end = listening};
	postgres_pipe_begin(reader->pipe, &reader->setup);
	postgres_pipe_query(reader->pipe, reader->sql.listen, NULL, 0);
	postgres_pipe_end(reader->pipe);
}

/* A take of no rows shows at once whether the table may be read. */
static void
prepare(struct postgres_reader *reader)
{
	const struct postgres_sql *sql = &reader->sql;
	struct span nothing[] = {
	    SPAN("0"), SPAN("{}"), POSTGRES_NULL, POSTGRES_NULL, POSTGRES_NULL};
	reader->setup =
	    (struct postgres_batch){.result = ignore_result, .end = prepared};
	postgres_pipe_begin(reader->pipe, &reader->setup);
	postgres_pipe_prepare(reader->pipe, "take_start", sql->take_start);
	postgres_pipe_prepare(reader->pipe, "take_above", sql->take_above);
	postgres_pipe_prepare(reader->pipe, "again", sql->again);
	postgres_pipe_prepare(reader->pipe, "there", sql->there);
	postgres_pipe_prepare(reader->pipe, "finish0", sql->finish);
	postgres_pipe_run(
	    reader->pipe, "take_start", nothing, sql->pair ? 5 : 4);
	postgres_pipe_end(reader->pipe);
}

/* --- the first batch --- */

static void
columns_known(struct postgres_batch *batch, unsigned statement,
    const PGresult *result)
{
	struct postgres_reader *reader = reader_of(batch);
	struct postgres_types types;
	if (statement != STATEMENT_COLUMNS ||
	    !read_types(reader, result, &types))
		return;
	reader->sql = postgres_sql_make(
	    reader->arena, reader->source, &types, reader->most_bytes);
	reader->parts.class = class_of(reader, &types);
}

static void
table_known(
    struct postgres_batch *batch, const struct postgres_trouble *trouble)
{
	struct postgres_reader *reader = reader_of(batch);
	if (trouble != NULL)
		postgres_trouble(reader, trouble);
	else
		prepare(reader);
}

void
postgres_setup_begin(struct postgres_reader *reader)
{
	struct span table =
	    postgres_name_table(reader->arena, reader->source->table);
	reader->setup = (struct postgres_batch){
	    .result = columns_known, .end = table_known};
	postgres_pipe_begin(reader->pipe, &reader->setup);
	postgres_pipe_query(reader->pipe, postgres_sql_settings, NULL, 0);
	postgres_pipe_query(reader->pipe, columns_sql, &table, 1);
	postgres_pipe_end(reader->pipe);
}
