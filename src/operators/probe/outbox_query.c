/* SPDX-License-Identifier: BSD-2-Clause */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/must.h"
#include "operators/probe/outbox_ask_private.h"
#include "operators/probe/outbox_query.h"

/* --- coming in --- */

static PGconn *
connect_with(const struct conf_broker *broker, const char *kind)
{
	/* What the URI says comes later and wins. */
	const char *const names[] = {"application_name", "connect_timeout",
	    "target_session_attrs", "dbname", "password", NULL};
	const char *const values[] = {"onceproxy doctor", "5", kind,
	    broker->postgres, broker->password, NULL};
	return PQconnectdbParams(names, values, 1);
}

static bool
dial(struct outbox_look *look)
{
	const struct conf_broker *broker = look->source->broker;
	struct source_seen *seen = look->seen;
	look->conn = connect_with(broker, "read-write");
	if (PQstatus(look->conn) == CONNECTION_OK) {
		PQclear(outbox_ask_rows(
		    look, "SET statement_timeout = 5000", 0, NULL));
		return true;
	}
	seen->message = outbox_ask_flat(PQerrorMessage(look->conn));
	/* None of the hosts takes writes, but one may be there. */
	PGconn *any = connect_with(broker, "any");
	seen->replica = PQstatus(any) == CONNECTION_OK;
	PQfinish(any);
	bool answers = PQping(broker->postgres) == PQPING_OK;
	seen->how = answers ? BROKER_REFUSED : BROKER_SILENT;
	return false;
}

/* --- columns --- */

/* The type's name of a column; NULL, after noting that there is none. */
static char *
type_of(struct outbox_look *look, const char *member, const char *column)
{
	const char *const values[] = {look->table, column};
	char *type = outbox_ask_text(look,
	    "SELECT coalesce(b.typname, y.typname) FROM pg_attribute a "
	    "JOIN pg_type y ON y.oid = a.atttypid "
	    "LEFT JOIN pg_type b ON b.oid = y.typbasetype "
	    "WHERE a.attrelid = $1::text::regclass AND a.attname = $2 "
	    "AND a.attnum > 0 AND NOT a.attisdropped",
	    2, values);
	if (type == NULL && look->seen->missing == NULL)
		look->seen->missing =
		    mem_printf("the table %s has no column %s, which is its %s",
			look->source->table, column, member);
	return type;
}

static bool
is_number(const char *type)
{
	return strcmp(type, "int8") == 0 || strcmp(type, "int4") == 0 ||
	    strcmp(type, "int2") == 0 || strcmp(type, "numeric") == 0;
}

static void
look_at_id(struct outbox_look *look)
{
	char *type = type_of(look, "columns.id", look->source->columns.id);
	look->seen->no_order = type != NULL && !is_number(type) &&
	    look->source->columns.order == NULL &&
	    look->source->order_by != SOURCE_ORDER_NONE;
	free(type);
}

static void
look_at_headers(struct outbox_look *look)
{
	const char *name = look->source->columns.headers;
	char *type =
	    name != NULL ? type_of(look, "columns.headers", name) : NULL;
	if (type != NULL && strcmp(type, "json") != 0 &&
	    strcmp(type, "jsonb") != 0 && look->seen->missing == NULL)
		look->seen->missing = mem_printf(
		    "the column %s is neither json nor jsonb", name);
	free(type);
}

/* A column that is read, and the member that names it. */
struct read_column {
	const char *member;
	const char *name;
};

/* In a list that ends with a name of NULL. */
enum { COLUMNS_MAX = 7 };

static void
columns_of(
    const struct conf_source *source, struct read_column list[COLUMNS_MAX])
{
	const struct conf_columns *c = &source->columns;
	const struct read_column all[] = {{"columns.id", c->id},
	    {"columns.entity", c->entity}, {"columns.type", c->type},
	    {"columns.payload", c->payload}, {"columns.order", c->order},
	    {"finish", source->finish.column}};
	size_t count = 0;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i].name != NULL)
			list[count++] = all[i];
	list[count].name = NULL;
}

/* A column that is never null, of which null is what tells unread rows. */
static void
look_at_finish(struct outbox_look *look)
{
	const struct conf_finish *f = &look->source->finish;
	const char *const values[] = {look->table, f->column};
	if (f->column == NULL || f->from != NULL || look->seen->missing != NULL)
		return;
	char *never = outbox_ask_text(look,
	    "SELECT true FROM pg_attribute a JOIN pg_type y "
	    "ON y.oid = a.atttypid WHERE a.attrelid = $1::text::regclass "
	    "AND a.attname = $2 AND (a.attnotnull OR y.typnotnull)",
	    2, values);
	if (never != NULL)
		look->seen->missing = mem_printf(
		    "nothing can ever be read, as the column %s is never "
		    "null: say which value unread rows have, with \"from\" "
		    "and \"to\" of finish",
		    f->column);
	free(never);
}

/*
 * What is deleted in the transaction that inserts it was never there, as far as
 * anybody else can see.
 */
static void
look_at_deleting(struct outbox_look *look)
{
	const char *const values[] = {look->table};
	look->seen->deleting = outbox_ask_text(look,
	    "SELECT string_agg(what, ', ' ORDER BY what) FROM ("
	    "SELECT 'the trigger ' || t.tgname AS what FROM pg_trigger t "
	    "JOIN pg_proc p ON p.oid = t.tgfoid "
	    "JOIN pg_class c ON c.oid = t.tgrelid "
	    "WHERE t.tgrelid = $1::text::regclass AND NOT t.tgisinternal "
	    "AND t.tgenabled <> 'D' AND t.tgtype & 4 <> 0 "
	    "AND p.prosrc ~* 'delete\\s+from' AND ("
	    "strpos(lower(p.prosrc), lower(c.relname)) > 0 OR "
	    "p.prosrc ~* 'tg_table_name|tg_relid') "
	    "UNION ALL SELECT 'the rule ' || rulename FROM pg_rewrite "
	    "WHERE ev_class = $1::text::regclass AND ev_type = '3' "
	    "AND ev_enabled <> 'D' "
	    "AND pg_get_ruledef(oid) ~* 'delete\\s+from') AS found",
	    1, values);
}

static void
look_at_columns(struct outbox_look *look)
{
	struct read_column columns[COLUMNS_MAX];
	columns_of(look->source, columns);
	for (size_t i = 0; columns[i].name != NULL; i++)
		free(type_of(look, columns[i].member, columns[i].name));
	look_at_headers(look);
	look_at_id(look);
	look_at_finish(look);
	look_at_deleting(look);
}

/* --- rights --- */

/* Once, though results and dead letters may need the same. */
static void
note_right(struct outbox_look *look, const char *right, const char *on)
{
	char *both = mem_printf("%s ON %s", right, on);
	must(fflush(look->missing) == 0);
	bool noted = strstr(look->seen->rights, both) != NULL;
	free(both);
	if (noted)
		return;
	char *user = outbox_ask_text(
	    look, "SELECT quote_ident(current_user)", 0, NULL);
	fprintf(look->missing, "%s%s ON %s", look->comma, right, on);
	fprintf(look->grants, "%sGRANT %s ON %s TO %s", look->semicolon, right,
	    on, user != NULL ? user : "CURRENT_USER");
	look->comma = ", ";
	look->semicolon = "; ";
	free(user);
}

static bool
may_read(struct outbox_look *look)
{
	struct read_column columns[COLUMNS_MAX];
	bool may = true;
	columns_of(look->source, columns);
	for (size_t i = 0; columns[i].name != NULL && may; i++)
		may = outbox_ask_bool(look,
		    "SELECT has_column_privilege($1::text::regclass, $2::text, "
		    "'SELECT')",
		    look->table, columns[i].name);
	return may;
}

static void
look_at_finishing(struct outbox_look *look)
{
	const char *column = look->source->finish.column;
	if (column == NULL) {
		if (!outbox_ask_bool(look,
			"SELECT has_table_privilege($1::text::regclass, "
			"'DELETE')",
			look->table, NULL))
			note_right(look, "DELETE", look->table);
		return;
	}
	if (outbox_ask_bool(look,
		"SELECT has_column_privilege($1::text::regclass, $2::text, "
		"'UPDATE')",
		look->table, column))
		return;
	char *name = outbox_ask_name(look, column, strlen(column));
	char *right = mem_printf("UPDATE (%s)", name);
	note_right(look, right, look->table);
	free(right);
	free(name);
}

/* The schema that a table is, or would be made, in. */
static char *
schema_of(struct outbox_look *look, const char *table)
{
	const char *dot = strchr(table, '.');
	if (dot != NULL)
		return mem_str(span_of(table, (size_t)(dot - table)));
	return outbox_ask_text(look, "SELECT current_schema()", 0, NULL);
}

/*
 * Results or dead letters: the table is there, or can be made.  The newest dead
 * letter is read at the start.
 */
static void
look_at_place(struct outbox_look *look, const char *table)
{
	if (table == NULL)
		return;
	char *name = outbox_ask_table_name(look, table);
	const char *const values[] = {name};
	char *there = outbox_ask_text(
	    look, "SELECT to_regclass($1)::text", 1, values);
	if (there != NULL) {
		if (!outbox_ask_bool(look,
			"SELECT has_table_privilege($1::text::regclass, "
			"'INSERT')",
			name, NULL))
			note_right(look, "INSERT", name);
		if (table == look->source->dead_letters &&
		    !outbox_ask_bool(look,
			"SELECT has_table_privilege($1::text::regclass, "
			"'SELECT')",
			name, NULL))
			note_right(look, "SELECT", name);
	} else {
		char *schema = schema_of(look, table);
		if (schema != NULL &&
		    !outbox_ask_bool(look,
			"SELECT has_schema_privilege($1, 'CREATE')", schema,
			NULL)) {
			char *on =
			    outbox_ask_name(look, schema, strlen(schema));
			char *words = mem_printf("SCHEMA %s", on);
			note_right(look, "CREATE", words);
			free(words);
			free(on);
		}
		free(schema);
	}
	free(there);
	free(name);
}

static void
look_at_grants(struct outbox_look *look)
{
	size_t len;
	look->missing = open_memstream(&look->seen->rights, &len);
	look->grants = open_memstream(&look->seen->grant, &len);
	must(look->missing != NULL && look->grants != NULL);
	look->comma = look->semicolon = "";
	if (!may_read(look))
		note_right(look, "SELECT", look->table);
	look_at_finishing(look);
	look_at_place(look, look->source->results);
	look_at_place(look, look->source->dead_letters);
	must(fclose(look->missing) == 0 && fclose(look->grants) == 0);
	if (*look->seen->rights != '\0')
		return;
	free(look->seen->rights);
	free(look->seen->grant);
	look->seen->rights = look->seen->grant = NULL;
}

/* --- how it is read --- */

/* "t", as the gateway orders and filters it. */
static char *
order_of(const struct outbox_look *look)
{
	const struct conf_columns *c = &look->source->columns;
	char *id = outbox_ask_name(look, c->id, strlen(c->id));
	if (c->order == NULL)
		return id;
	char *order = outbox_ask_name(look, c->order, strlen(c->order));
	char *both = mem_printf("%s, %s", order, id);
	free(order);
	free(id);
	return both;
}

static char *
unread_of(const struct outbox_look *look)
{
	const struct conf_finish *f = &look->source->finish;
	if (f->column == NULL)
		return NULL;
	char *name = outbox_ask_name(look, f->column, strlen(f->column));
	char *unread = mem_printf(" WHERE %s IS NULL", name);
	if (f->from != NULL) {
		char *value = PQescapeLiteral(
		    look->conn, f->from, strlen(f->from));
		free(unread);
		unread = mem_printf(
		    " WHERE %s = %s", name, value != NULL ? value : "NULL");
		PQfreemem(value);
	}
	free(name);
	return unread;
}

/* A plan that had to sort, or to pass over rows that are finished. */
static bool
is_poor(const PGresult *plan)
{
	bool poor = false;
	for (int i = 0; i < PQntuples(plan); i++) {
		const char *line = PQgetvalue(plan, i, 0);
		const char *sort = strstr(line, "Sort  (");
		bool whole = sort != NULL && (sort == line || sort[-1] != ' ' ||
		    strstr(line, "Incremental Sort") == NULL);
		poor = poor || whole || strstr(line, "Seq Scan") != NULL ||
		    strstr(line, "Filter: ") != NULL;
	}
	return poor;
}

/*
 * Asks the planner whether an index gives the unread rows in their order; what
 * else it could do is made dear to it, for a table may be small today.
 */
static void
look_at_index(struct outbox_look *look)
{
	static const char *const dear[] = {"BEGIN",
	    "SET LOCAL enable_seqscan = off", "SET LOCAL enable_sort = off",
	    "SET LOCAL enable_bitmapscan = off"};
	char *order = order_of(look), *unread = unread_of(look);
	const char *where = unread != NULL ? unread : "";
	char *sql = mem_printf("EXPLAIN SELECT 1 FROM %s%s ORDER BY %s LIMIT 1",
	    look->table, where, order);
	for (size_t i = 0; i < sizeof dear / sizeof *dear; i++)
		PQclear(outbox_ask_rows(look, dear[i], 0, NULL));
	PGresult *plan = outbox_ask_rows(look, sql, 0, NULL);
	if (plan != NULL && is_poor(plan))
		look->seen->index =
		    mem_printf("CREATE INDEX CONCURRENTLY ON %s (%s)%s",
			look->table, order, where);
	PQclear(plan);
	PQclear(outbox_ask_rows(look, "ROLLBACK", 0, NULL));
	free(sql);
	free(order);
	free(unread);
}

static void
look_at_lag(struct outbox_look *look)
{
	char *unread = unread_of(look);
	char *sql = mem_printf(
	    "SELECT count(*) FROM (SELECT FROM %s%s LIMIT 100000) AS s",
	    look->table, unread != NULL ? unread : "");
	char *count = outbox_ask_text(look, sql, 0, NULL);
	if (count != NULL)
		look->seen->lag = strtoll(count, NULL, 10);
	free(count);
	free(sql);
	free(unread);
}

static void
look_for_no_ids(struct outbox_look *look)
{
	const struct conf_source *s = look->source;
	char *id = outbox_ask_name(look, s->columns.id, strlen(s->columns.id));
	char *unread = unread_of(look);
	char *sql = mem_printf("SELECT EXISTS (SELECT FROM %s%s%s %s IS NULL)",
	    look->table, unread ? unread : "", unread ? " AND" : " WHERE", id);
	char *found = outbox_ask_text(look, sql, 0, NULL);
	look->seen->no_ids = found != NULL && strcmp(found, "t") == 0;
	free(found);
	free(sql);
	free(unread);
	free(id);
}

/*
 * Rows that were deleted stay in the way as long as a transaction older than
 * that may see them: of sessions, prepared, or of replicas.
 */
static void
look_at_snapshots(struct outbox_look *look)
{
	look->seen->blind = !outbox_ask_bool(look,
	    "SELECT (pg_has_role('pg_read_all_stats', 'USAGE') OR "
	    "current_setting('is_superuser') = 'on') AND $1 <> ''",
	    "-", NULL);
	look->seen->snapshot = outbox_ask_text(look,
	    "SELECT what || ' has held back ' || old || ' transactions' FROM ("
	    "SELECT 'the session of process ' || pid AS what, "
	    "age(backend_xmin) AS old FROM pg_stat_activity "
	    "WHERE datname = current_database() AND pid <> pg_backend_pid() "
	    "UNION ALL SELECT 'the prepared transaction ' || gid, "
	    "age(transaction) FROM pg_prepared_xacts "
	    "WHERE database = current_database() "
	    "UNION ALL SELECT 'the replication slot ' || slot_name, age(xmin) "
	    "FROM pg_replication_slots) AS s "
	    "WHERE old >= 10000 ORDER BY old DESC LIMIT 1",
	    0, NULL);
}

/* --- all of it --- */

static void
look_at_table(struct outbox_look *look)
{
	const char *const values[] = {look->table};
	char *there = outbox_ask_text(
	    look, "SELECT to_regclass($1)::text", 1, values);
	if (there == NULL && look->seen->missing == NULL)
		look->seen->missing =
		    mem_printf("there is no table %s", look->source->table);
	if (there != NULL)
		look_at_columns(look);
	if (look->seen->missing == NULL)
		look_at_grants(look);
	if (look->seen->missing == NULL && may_read(look)) {
		look_at_index(look);
		look_at_lag(look);
		look_for_no_ids(look);
	}
	free(there);
}

void
outbox_query(const struct conf_source *source, struct source_seen *seen)
{
	struct outbox_look look = {.source = source, .seen = seen};
	if (dial(&look)) {
		look.table = outbox_ask_table_name(&look, source->table);
		look_at_table(&look);
		look_at_snapshots(&look);
		free(look.table);
	}
	PQfinish(look.conn);
}
