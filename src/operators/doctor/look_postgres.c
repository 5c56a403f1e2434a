/* SPDX-License-Identifier: BSD-2-Clause */
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/random.h"
#include "operators/commands/shell_quote.h"
#include "operators/doctor/look_private.h"
#include "store/postgres/postgres_name.h"
#include "store/postgres/postgres_witness.h"

struct look_postgres {
	const struct look_broker *at;
	enum finding_name missing; /* what a statement that fails is */
	PGconn *conn;
	struct arena *arena;
	const char *values[16];
	int count;
	bool denied; /* it was said that rights are missing */
	bool failed; /* something is missing: the rest cannot be asked */
};

/* --- coming in --- */

/* The text in one line. */
static char *
flat(const char *text)
{
	char *line = mem_text(text);
	size_t len = strlen(line);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)line[i] < ' ')
			line[i] = ' ';
	while (len > 0 && line[len - 1] == ' ')
		line[--len] = '\0';
	return line;
}

static PGconn *
connect_to(const struct conf_broker *broker, const char *kind)
{
	/* What the URI says comes later and wins. */
	const char *const names[] = {"application_name", "connect_timeout",
	    "target_session_attrs", "dbname", "password", NULL};
	const char *const values[] = {"onceproxy doctor", "5", kind,
	    broker->postgres, broker->password, NULL};
	return PQconnectdbParams(names, values, 1);
}

/* --- asking --- */

/*
 * The rows of a statement, for PQclear(); NULL: it failed, which is said, but
 * for want of a right only once (42501: insufficient_privilege).
 */
static PGresult *
rows_of(struct look_postgres *look, const char *sql, int count)
{
	PGresult *result = PQexecParams(
	    look->conn, sql, count, NULL, look->values, NULL, NULL, 0);
	ExecStatusType status = PQresultStatus(result);
	if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
		return result;
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	bool said = look->denied && state != NULL && !strcmp(state, "42501");
	if (!look->failed && !said)
		look_broker_add(look->at, look->missing,
		    flat(PQresultErrorMessage(result)), NULL);
	look->failed = true;
	PQclear(result);
	return NULL;
}

static char *
text_in(const PGresult *result, int column)
{
	return result != NULL && PQntuples(result) > 0 &&
		       column < PQnfields(result) &&
		       !PQgetisnull(result, 0, column)
		   ? mem_text(PQgetvalue(result, 0, column))
		   : NULL;
}

/* The first value; NULL: there is none, or it is null. */
static char *
ask(struct look_postgres *look, const char *sql)
{
	PGresult *result = rows_of(look, sql, 0);
	char *text = text_in(result, 0);
	PQclear(result);
	return text;
}

/* Of what follows: each right that is missing, to what, and its place. */
#define RIGHTS \
	"SELECT string_agg(need || ' ON ' || what, ', ' ORDER BY n), " \
	"string_agg('GRANT ' || need || ' ON ' || what || ' TO ' || " \
	"quote_ident(current_user), '; ' ORDER BY n) FROM "

/* A question of the values: what it has to say, and what cures that. */
struct sql_question {
	enum finding_name name;
	const char *sql;
};

/*
 * known: SQL that names the values, and what is of them.  What is missing ends
 * it: the rest is about what is there.
 */
static void
put_questions(struct look_postgres *look, const char *known,
    const struct sql_question *list, size_t count)
{
	for (size_t i = 0; i < count && !look->failed; i++) {
		char *sql = mem_printf("%s%s", known, list[i].sql);
		PGresult *result = rows_of(look, sql, look->count);
		char *detail = text_in(result, 0), *remedy = text_in(result, 1);
		free(sql);
		PQclear(result);
		if (detail == NULL) {
			free(remedy);
			continue;
		}
		look->failed = list[i].name == look->missing;
		look->denied |= list[i].name == FINDING_source_rights ||
		    list[i].name == FINDING_witness_rights;
		look_broker_add(look->at, list[i].name, detail, remedy);
	}
}

/* --- the table of a source --- */

/* p: the values; cols: what is read, by its member; att: what there is. */
static const char known_of_source[] =
    "WITH p AS (SELECT $1::text AS tab, $2::text AS named, $3::text AS id, "
    "$4::text AS entity, $5::text AS type, $6::text AS payload, "
    "$7::text AS ord, $8::text AS finish, $9::text AS headers, "
    "$10::text AS results, $11::text AS dead, $12::text AS unread, "
    "$13::text AS ordered), cols AS (SELECT c, member, n FROM p, LATERAL "
    "(VALUES (id, 'columns.id', 1), (entity, 'columns.entity', 2), "
    "(type, 'columns.type', 3), (payload, 'columns.payload', 4), "
    "(ord, 'columns.order', 5), (finish, 'finish', 6), "
    "(headers, 'columns.headers', 7)) AS v (c, member, n) "
    "WHERE c IS NOT NULL), att AS (SELECT a.attname, "
    "coalesce(b.typname, y.typname) AS typ, "
    "a.attnotnull OR y.typnotnull AS never_null FROM p "
    "JOIN pg_attribute a ON a.attrelid = to_regclass(tab) "
    "AND a.attnum > 0 AND NOT a.attisdropped "
    "JOIN pg_type y ON y.oid = a.atttypid "
    "LEFT JOIN pg_type b ON b.oid = y.typbasetype) ";

static const struct sql_question of_source[] = {
    {FINDING_source_missing, "SELECT 'there is no table ' || named FROM p "
			     "WHERE to_regclass(tab) IS NULL"},
    {FINDING_source_missing,
	"SELECT 'the table ' || named || ' has no column ' || c || "
	"', which is its ' || member FROM p, cols WHERE NOT EXISTS "
	"(SELECT FROM att WHERE attname = c) ORDER BY n LIMIT 1"},
    {FINDING_source_missing,
	"SELECT 'the column ' || headers || ' is neither json nor jsonb' "
	"FROM p, att WHERE attname = headers "
	"AND typ NOT IN ('json', 'jsonb')"},
    /* A column of which null is what tells unread rows. */
    {FINDING_source_missing,
	"SELECT 'nothing can ever be read, as the column ' || finish || "
	"' is never null: say which value unread rows have, with \"from\" "
	"and \"to\" of finish' FROM p, att WHERE attname = finish "
	"AND never_null AND unread IS NULL"},
    {FINDING_source_order,
	"SELECT id FROM p, att WHERE attname = id AND ord IS NULL "
	"AND ordered IS NOT NULL "
	"AND typ NOT IN ('int8', 'int4', 'int2', 'numeric')"},
    /*
     * What is deleted in the transaction that inserts it was never there, as
     * far as anybody else can see.
     */
    {FINDING_source_deleting,
	"SELECT string_agg(what, ', ' ORDER BY what) FROM ("
	"SELECT 'the trigger ' || t.tgname AS what FROM p "
	"JOIN pg_trigger t ON t.tgrelid = to_regclass(tab) "
	"JOIN pg_proc f ON f.oid = t.tgfoid "
	"JOIN pg_class c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal "
	"AND t.tgenabled <> 'D' AND t.tgtype & 4 <> 0 "
	"AND f.prosrc ~* 'delete\\s+from' AND ("
	"strpos(lower(f.prosrc), lower(c.relname)) > 0 OR "
	"f.prosrc ~* 'tg_table_name|tg_relid') "
	"UNION ALL SELECT 'the rule ' || rulename FROM p "
	"JOIN pg_rewrite r ON ev_class = to_regclass(tab) "
	"WHERE ev_type = '3' AND ev_enabled <> 'D' "
	"AND pg_get_ruledef(r.oid) ~* 'delete\\s+from') AS found"},
    /* What is not there can be made; the newest dead letter is read. */
    {FINDING_source_rights,
	RIGHTS "(SELECT need, what, min(n) AS n FROM ("
	"SELECT 'SELECT' AS need, tab AS what, 1 AS n FROM p WHERE EXISTS "
	"(SELECT FROM cols WHERE NOT "
	"has_column_privilege(to_regclass(tab), c, 'SELECT')) "
	"UNION ALL SELECT 'DELETE', tab, 2 FROM p WHERE finish IS NULL "
	"AND NOT has_table_privilege(to_regclass(tab), 'DELETE') "
	"UNION ALL SELECT 'UPDATE (' || quote_ident(finish) || ')', tab, 3 "
	"FROM p WHERE finish IS NOT NULL "
	"AND NOT has_column_privilege(to_regclass(tab), finish, 'UPDATE') "
	"UNION ALL SELECT act, place, k FROM p, LATERAL (VALUES "
	"(results, 'INSERT', 4), (dead, 'INSERT', 5), (dead, 'SELECT', 6)) "
	"AS v (place, act, k) "
	"WHERE NOT has_table_privilege(to_regclass(place), act) "
	"UNION ALL SELECT 'CREATE', 'SCHEMA ' || quote_ident(s), k "
	"FROM p, LATERAL (VALUES (results, 4), (dead, 5)) AS v (place, k), "
	"LATERAL (SELECT CASE WHEN cardinality(parse_ident(place)) > 1 "
	"THEN (parse_ident(place))[1] ELSE current_schema() END AS s) AS q "
	"WHERE place IS NOT NULL AND to_regclass(place) IS NULL "
	"AND NOT has_schema_privilege(s, 'CREATE')) AS wanted "
	"GROUP BY need, what) AS each"},
};

/* A plan that had to sort, or to pass over rows that are finished. */
static bool
is_poor(const PGresult *plan)
{
	for (int i = 0; i < PQntuples(plan); i++) {
		const char *line = PQgetvalue(plan, i, 0);
		const char *sort = strstr(line, "Sort  (");
		if (strstr(line, "Seq Scan") != NULL ||
		    strstr(line, "Filter: ") != NULL ||
		    (sort != NULL &&
			(sort == line || sort[-1] != ' ' ||
			    strstr(line, "Incremental Sort") == NULL)))
			return true;
	}
	return false;
}

/*
 * Asks the planner whether an index gives the unread rows in their order; what
 * else it could do is made dear to it, for a table may be small today.
 */
static void
look_at_index(struct look_postgres *look, const char *table, const char *order,
    const char *where)
{
	static const char *const dear[] = {"BEGIN",
	    "SET LOCAL enable_seqscan = off", "SET LOCAL enable_sort = off",
	    "SET LOCAL enable_bitmapscan = off"};
	char *sql = mem_printf("EXPLAIN SELECT 1 FROM %s%s ORDER BY %s LIMIT 1",
	    table, where, order);
	for (size_t i = 0; i < sizeof dear / sizeof *dear; i++)
		PQclear(rows_of(look, dear[i], 0));
	PGresult *plan = rows_of(look, sql, 0);
	if (plan != NULL && is_poor(plan))
		look_broker_add(look->at, FINDING_source_index,
		    mem_text(look->at->source->table),
		    mem_printf("CREATE INDEX CONCURRENTLY ON %s (%s)%s", table,
			order, where));
	PQclear(plan);
	PQclear(rows_of(look, "ROLLBACK", 0));
	free(sql);
}

/* The unread rows, as the gateway orders and filters them. */
static void
look_at_rows(struct look_postgres *look)
{
	const struct conf_source *source = look->at->source;
	const struct conf_columns *c = &source->columns;
	const struct conf_finish *f = &source->finish;
	const char *table = look->values[0];
	const char *id = postgres_name_of(look->arena, c->id).ptr;
	char *value = f->from == NULL ? NULL
				      : PQescapeLiteral(look->conn, f->from,
					    strlen(f->from));
	char *where =
	    f->column == NULL
		? mem_text("")
		: mem_printf(" WHERE %s %s%s",
		      postgres_name_of(look->arena, f->column).ptr,
		      value != NULL ? "= " : "IS NULL", value ? value : "");
	char *order =
	    c->order == NULL
		? mem_text(id)
		: mem_printf("%s, %s",
		      postgres_name_of(look->arena, c->order).ptr, id);
	look_at_index(look, table, order, where);
	char *sql = mem_printf(
	    "SELECT count(*) FROM (SELECT FROM %s%s LIMIT 100000) AS s", table,
	    where);
	char *count = ask(look, sql);
	look_broker_waits(
	    look->at, count != NULL ? strtoll(count, NULL, 10) : -1, 0);
	free(sql);
	free(count);
	sql = mem_printf("SELECT 'yes' FROM %s%s %s %s IS NULL LIMIT 1", table,
	    where, *where ? "AND" : "WHERE", id);
	char *without = ask(look, sql);
	if (without != NULL)
		look_broker_add(look->at, FINDING_source_no_id,
		    mem_text(source->table), NULL);
	free(without);
	free(sql);
	free(order);
	free(where);
	PQfreemem(value);
}

/*
 * Rows that were deleted stay in the way as long as a transaction older than
 * that may see them: of sessions, prepared, or of replicas.
 */
static void
look_at_snapshots(struct look_postgres *look)
{
	char *sees = ask(look,
	    "SELECT 'yes' WHERE pg_has_role('pg_read_all_stats', 'USAGE') OR "
	    "current_setting('is_superuser') = 'on'");
	char *old = ask(look,
	    "SELECT what || ' has held back ' || old || ' transactions' FROM ("
	    "SELECT 'the session of process ' || pid AS what, "
	    "age(backend_xmin) AS old FROM pg_stat_activity "
	    "WHERE datname = current_database() AND pid <> pg_backend_pid() "
	    "UNION ALL SELECT 'the prepared transaction ' || gid, "
	    "age(transaction) FROM pg_prepared_xacts "
	    "WHERE database = current_database() "
	    "UNION ALL SELECT 'the replication slot ' || slot_name, age(xmin) "
	    "FROM pg_replication_slots) AS s "
	    "WHERE old >= 10000 ORDER BY old DESC LIMIT 1");
	if (old != NULL)
		look_broker_add_once(look->at, FINDING_source_snapshot, old);
	else if (sees == NULL)
		findings_skip(look->at->doctor, FINDING_source_snapshot,
		    "this user may not see the sessions of others "
		    "(GRANT pg_read_all_stats)");
	free(sees);
}

static void
look_at_source(struct look_postgres *look)
{
	const struct conf_source *source = look->at->source;
	const struct conf_columns *c = &source->columns;
	const struct conf_finish *f = &source->finish;
	const char *const values[] = {
	    postgres_name_table(look->arena, source->table), source->table,
	    c->id, c->entity, c->type, c->payload, c->order, f->column,
	    c->headers,
	    source->results ? postgres_name_table(look->arena, source->results)
			    : NULL,
	    source->dead_letters
		? postgres_name_table(look->arena, source->dead_letters)
		: NULL,
	    f->from, source->order_by != SOURCE_ORDER_NONE ? "t" : NULL};
	look->missing = FINDING_source_missing;
	memcpy(look->values, values, sizeof values);
	look->count = sizeof values / sizeof *values;
	put_questions(look, known_of_source, of_source,
	    sizeof of_source / sizeof *of_source);
	if (!look->failed)
		look_at_rows(look);
	look_at_snapshots(look);
}

/* --- the tables of a relay: its ledger, and its position --- */

static const char known_of_relay[] =
    "WITH p AS (SELECT $1::text AS tab, $2::text AS pos) ";

static const struct sql_question of_relay[] = {
    {FINDING_relay_table,
	"SELECT 'the table has no column ' || string_agg(c, ', ' ORDER BY n) "
	"FROM p, unnest('{id,key_id,route,from,to,status,attempt,time,"
	"instance,request_id,label,answer}'::text[]) WITH ORDINALITY "
	"AS wanted (c, n) WHERE to_regclass(tab) IS NOT NULL AND NOT EXISTS "
	"(SELECT FROM pg_attribute WHERE attrelid = to_regclass(tab) "
	"AND attname = c AND attnum > 0 AND NOT attisdropped)"},
    {FINDING_relay_rights,
	RIGHTS "(SELECT what, need, n FROM p, LATERAL (VALUES "
	"(tab, 'INSERT', 1), (tab, 'SELECT', 2), (pos, 'INSERT', 3), "
	"(pos, 'SELECT', 4), (pos, 'UPDATE', 5)) AS v (what, need, n) "
	"WHERE NOT has_table_privilege(to_regclass(what), need) "
	"UNION ALL SELECT 'SCHEMA ' || quote_ident(s), 'CREATE', 6 "
	"FROM p, LATERAL (SELECT CASE WHEN cardinality(parse_ident(tab)) > 1 "
	"THEN (parse_ident(tab))[1] ELSE current_schema() END AS s) AS q "
	"WHERE (to_regclass(tab) IS NULL OR to_regclass(pos) IS NULL) "
	"AND NOT has_schema_privilege(s, 'CREATE')) AS wanted"},
};

static void
look_at_relay(struct look_postgres *look)
{
	const char *table = look->at->relay->table;
	const char *const values[] = {
	    postgres_name_table(look->arena, table),
	    postgres_name_table(look->arena,
		arena_printf(look->arena, "%s_position", table).ptr)};
	look->missing = FINDING_relay_table;
	memcpy(look->values, values, sizeof values);
	look->count = sizeof values / sizeof *values;
	put_questions(look, known_of_relay, of_relay,
	    sizeof of_relay / sizeof *of_relay);
}

/* --- the table of a witness --- */

/* tab: the table; enf: enforced_by, or null; upd: it must become `revoked`. */
static const char known_of_witness[] =
    "WITH p AS (SELECT $1::text AS tab, $2::text AS enf, $3::text AS upd) ";

static const struct sql_question of_witness[] = {
    {FINDING_witness_rights,
	RIGHTS "(SELECT need, tab AS what, n FROM p, "
	"(VALUES ('INSERT', 'key_id', 1), ('INSERT', 'attempt', 1), "
	"('INSERT', 'verdict', 1), ('SELECT', 'body', 2), "
	"('SELECT', 'verdict', 2), ('UPDATE', 'verdict', 3)) "
	"AS v (need, col, n) WHERE (need <> 'UPDATE' OR upd IS NOT NULL) "
	"AND NOT has_column_privilege(to_regclass(tab), col, need)) AS r"},
    {FINDING_witness_rights,
	"SELECT 'see all rows of ' || tab || ', which has row security', "
	"'ALTER ROLE ' || quote_ident(current_user) || ' BYPASSRLS' FROM p "
	"WHERE row_security_active(to_regclass(tab))"},
    {FINDING_witness_changed,
	"SELECT string_agg(DISTINCT role || ' may ' || may, ', '), "
	"string_agg(DISTINCT 'REVOKE ' || may || ' ON ' || tab || ' FROM ' || "
	"role, '; ') FROM (SELECT tab, a.privilege_type AS may, "
	"CASE a.grantee WHEN 0 THEN 'PUBLIC' "
	"ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS role "
	"FROM p JOIN pg_class c ON c.oid = to_regclass(tab), "
	"LATERAL aclexplode(c.relacl) AS a "
	"WHERE a.privilege_type IN ('UPDATE', 'DELETE', 'TRUNCATE') "
	"AND a.grantee NOT IN (c.relowner, current_user::regrole::oid)) "
	"AS granted"},
    {FINDING_witness_single,
	"SELECT enf, 'ALTER TABLE ' || enf || ' ADD UNIQUE (key_id, attempt)' "
	"FROM p WHERE to_regclass(enf) IS NOT NULL AND NOT EXISTS "
	"(SELECT FROM pg_index WHERE indrelid = to_regclass(enf) "
	"AND indisunique AND indisvalid AND indpred IS NULL "
	"AND indnkeyatts = 2 AND 2 = (SELECT count(*) FROM pg_attribute "
	"WHERE attrelid = to_regclass(enf) AND attnum = ANY (indkey) "
	"AND attname IN ('key_id', 'attempt')))"},
    /* The API's own transactions have what the server, or its role, says. */
    {FINDING_witness_commit,
	"SELECT CASE WHEN current_setting('synchronous_commit') = 'off' "
	"THEN 'synchronous_commit is off' WHEN standbys > 0 "
	"AND current_setting('synchronous_standby_names') = '' "
	"THEN standbys || ' standby(s), and synchronous_standby_names is "
	"empty: one that takes over may lack the last rows' "
	"WHEN standbys > 0 AND current_setting('synchronous_commit') = 'local' "
	"THEN 'synchronous_commit is local' END FROM "
	"(SELECT count(*) AS standbys FROM pg_stat_replication) AS s"},
    {FINDING_witness_rest,
	"SELECT '', 'GRANT DELETE ON ' || tab || ' TO ' || "
	"quote_ident(current_user) FROM p "
	"WHERE NOT has_table_privilege(to_regclass(tab), 'DELETE')"},
};

/* What the gateway itself asks of the catalogue, each minute. */
static void
look_at_catalogue(struct look_postgres *look)
{
	static const struct {
		enum finding_name name;
		int column;
	} asked[] = {{FINDING_witness_table, WITNESS_UNUSABLE},
	    {FINDING_witness_enforced, WITNESS_UNENFORCED}};
	PGresult *result = rows_of(look, postgres_witness_catalogue, 2);
	for (size_t i = 0; i < 2; i++) {
		char *why = text_in(result, asked[i].column);
		if (why != NULL)
			look_broker_add(look->at, asked[i].name,
			    mem_printf("%s: %s", look->values[i], why),
			    shell_quote(look->at->doctor->file));
		look->failed |=
		    why != NULL && asked[i].name == FINDING_witness_table;
		free(why);
	}
	PQclear(result);
}

/* One thing that is tried with a row, and what its verdict is then. */
struct tried {
	const char *attempt;
	const char *sql; /* NULL: nothing is there before */
	const char *question;
	const char *verdict;
};

/* The verdict of the row that a question leaves; NULL: none. */
static char *
verdict_of(struct look_postgres *look, const struct postgres_witness *sql,
    const struct tried *tried, const char *key)
{
	const char *const values[] = {key, tried->attempt, "1"};
	memcpy(look->values, values, sizeof values);
	if (tried->sql != NULL)
		PQclear(rows_of(look, tried->sql, 2));
	PQclear(rows_of(look, tried->question, 2));
	PGresult *result = rows_of(look, sql->read, 3);
	char *verdict = text_in(result, WITNESS_VERDICT);
	PQclear(result);
	return verdict;
}

/*
 * All that may come of a question, by the statements that ask it, of a key that
 * nobody has.
 */
static void
try_answers(struct look_postgres *look, const char *table)
{
	const struct conf_witness *witness =
	    &look->at->route->idempotency->witness;
	struct postgres_witness sql =
	    postgres_witness_make(look->arena, witness->table);
	const char *done = arena_printf(look->arena,
	    "INSERT INTO %s (key_id, attempt) VALUES ($1, $2::integer)",
	    table).ptr;
	const char *started = arena_printf(look->arena,
	    "INSERT INTO %s (key_id, attempt, verdict) "
	    "VALUES ($1, $2::integer, 'started')", table).ptr;
	const struct tried trials[] = {{"1", NULL, sql.revoke, "revoked"},
	    {"1", NULL, sql.revoke, "revoked"},
	    {"2", done, sql.revoke, "done"},
	    {"3", started, sql.revoke, "started"},
	    {"3", NULL, sql.revoke_started, "revoked"}};
	size_t count = sizeof trials / sizeof *trials;
	uint8_t random[8];
	char key[2 * sizeof random + 1];
	random_bytes(random, sizeof random);
	hex_encode(random, sizeof random, key);
	look->missing = FINDING_witness_answers;
	PQclear(rows_of(look, postgres_witness_begin, 0));
	look->values[0] = "1000"; /* of that key nobody has a lock */
	PQclear(rows_of(look, postgres_witness_settings, 1));
	for (size_t i = 0; i < count - !witness->then_reconcile; i++) {
		char *verdict = verdict_of(look, &sql, &trials[i], key);
		bool is =
		    verdict != NULL && !strcmp(verdict, trials[i].verdict);
		if (!look->failed && !is)
			look_broker_add(look->at, FINDING_witness_answers,
			    mem_printf("%s: \"%s\" was to be there, and is "
				"%s%s%s", table, trials[i].verdict,
				verdict != NULL ? "\"" : "",
				verdict != NULL ? verdict : "not",
				verdict != NULL ? "\"" : ""),
			    NULL);
		look->failed |= !is;
		free(verdict);
	}
	PQclear(PQexec(look->conn, "ROLLBACK"));
}

static void
look_at_witness(struct look_postgres *look)
{
	const struct look_broker *at = look->at;
	const struct conf_witness *witness = &at->route->idempotency->witness;
	const char *table = postgres_name_table(look->arena, witness->table);
	const char *const values[] = {table,
	    witness->enforced_by != NULL
		? postgres_name_table(look->arena, witness->enforced_by)
		: NULL,
	    witness->then_reconcile ? "t" : NULL};
	look->missing = FINDING_witness_unreachable;
	memcpy(look->values, values, sizeof values);
	look->count = sizeof values / sizeof *values;
	look_at_catalogue(look);
	put_questions(look, known_of_witness, of_witness,
	    sizeof of_witness / sizeof *of_witness);
	if (!look->failed && !look->denied)
		try_answers(look, table);
	else
		findings_skip(at->doctor, FINDING_witness_answers,
		    "the witness cannot be asked");
}

/* --- all of it --- */

/* False: it is not let in, which is said. */
static bool
come_in(struct look_postgres *look)
{
	const struct conf_broker *broker = look->at->broker;
	look->conn = connect_to(broker, "read-write");
	if (PQstatus(look->conn) == CONNECTION_OK) {
		PQclear(PQexec(look->conn, "SET statement_timeout = 5000"));
		return PQstatus(look->conn) == CONNECTION_OK;
	}
	char *why = flat(PQerrorMessage(look->conn));
	/* None of the hosts takes writes, but one may be there. */
	PGconn *any = connect_to(broker, "any");
	if (look->at->source != NULL && PQstatus(any) == CONNECTION_OK) {
		look_broker_add_once(look->at, FINDING_broker_replica, NULL);
		findings_skip_all(look->at->doctor, NEEDS_BROKER,
		    "the broker could not be examined");
	} else {
		look_broker_unseen(
		    look->at, PQping(broker->postgres) == PQPING_OK, why);
	}
	PQfinish(any);
	free(why);
	return false;
}

void
look_postgres(const struct look_broker *at)
{
	struct look_postgres look = {.at = at, .arena = arena_new()};
	if (come_in(&look)) {
		if (at->source != NULL)
			look_at_source(&look);
		else if (at->relay != NULL)
			look_at_relay(&look);
		else
			look_at_witness(&look);
	}
	PQfinish(look.conn);
	arena_free(&look.arena);
}
