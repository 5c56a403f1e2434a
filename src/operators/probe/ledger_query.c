/* SPDX-License-Identifier: BSD-2-Clause */
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "operators/probe/ledger_query.h"

/* $1: the table, as SQL has it. */
static const char missing_columns[] =
    "SELECT 'the table has no column ' || string_agg(c, ', ' ORDER BY n) FROM "
    "unnest('{id,key_id,route,from,to,status,attempt,time,instance,request_id,"
    "label,answer}'::text[]) WITH ORDINALITY AS wanted (c, n) "
    "WHERE to_regclass($1) IS NOT NULL AND "
    "NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass($1) "
    "AND attname = c AND attnum > 0 AND NOT attisdropped)";

/* $1, $2: the table and that of positions; $3: their schema, or null. */
static const char missing_rights[] =
    "WITH wanted AS (SELECT what, need FROM (VALUES ($1::text, 'INSERT'), "
    "($1, 'SELECT'), ($2::text, 'INSERT'), ($2, 'SELECT'), ($2, 'UPDATE')) "
    "AS v (what, need) WHERE to_regclass(what) IS NOT NULL "
    "AND NOT has_table_privilege(what, need) UNION ALL "
    "SELECT 'SCHEMA ' || quote_ident(s), 'CREATE' "
    "FROM (SELECT coalesce($3::text, current_schema()) AS s) AS q "
    "WHERE (to_regclass($1) IS NULL OR to_regclass($2) IS NULL) "
    "AND NOT has_schema_privilege(s, 'CREATE')) "
    "SELECT string_agg(need || ' on ' || what, ', '), "
    "string_agg('GRANT ' || need || ' ON ' || what || ' TO ' || "
    "quote_ident(current_user), '; ') FROM wanted";

static char *
one_line(const char *text)
{
	char *line = mem_str(span_str(text));
	size_t len = strlen(line);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)line[i] < ' ')
			line[i] = ' ';
	while (len > 0 && line[len - 1] == ' ')
		line[--len] = '\0';
	return line;
}

/* "SCHEMA"."TABLE", or "TABLE", with what stands behind its name. */
static char *
name_in_sql(PGconn *conn, const char *table, const char *behind)
{
	const char *dot = strchr(table, '.');
	char *name = mem_printf("%s%s", dot != NULL ? dot + 1 : table, behind);
	char *last = PQescapeIdentifier(conn, name, strlen(name));
	char *first = dot != NULL
	    ? PQescapeIdentifier(conn, table, (size_t)(dot - table))
	    : NULL;
	char *both = mem_printf("%s%s%s", first != NULL ? first : "",
	    first != NULL ? "." : "", last != NULL ? last : "\"\"");
	PQfreemem(first);
	PQfreemem(last);
	free(name);
	return both;
}

/* Its two first values, for free(); NULL: null, or it failed. */
static void
ask_texts(PGconn *conn, const char *sql, int count,
    const char *const *values, struct source_seen *seen, char **ret_first,
    char **ret_second)
{
	char **const to[] = {ret_first, ret_second};
	PGresult *result =
	    PQexecParams(conn, sql, count, NULL, values, NULL, NULL, 0);
	if (PQresultStatus(result) != PGRES_TUPLES_OK && !seen->missing)
		seen->missing = one_line(PQresultErrorMessage(result));
	for (int i = 0; i < PQnfields(result) && i < 2; i++)
		if (PQntuples(result) > 0 && !PQgetisnull(result, 0, i) &&
		    *to[i] == NULL)
			*to[i] =
			    mem_str(span_str(PQgetvalue(result, 0, i)));
	PQclear(result);
}

static void
look_at_tables(PGconn *conn, const char *table, struct source_seen *seen)
{
	const char *dot = strchr(table, '.');
	char *schema = dot != NULL
	    ? mem_str(span_of(table, (size_t)(dot - table)))
	    : NULL;
	char *rows = name_in_sql(conn, table, "");
	char *position = name_in_sql(conn, table, "_position");
	const char *const values[] = {rows, position, schema};
	ask_texts(conn, missing_columns, 1, values, seen, &seen->missing,
	    &seen->grant);
	if (seen->missing == NULL)
		ask_texts(conn, missing_rights, 3, values, seen,
		    &seen->rights, &seen->grant);
	free(position);
	free(rows);
	free(schema);
}

static PGconn *
dial_server(const struct conf_broker *broker, const char *kind)
{
	/* What the URI says comes later and wins. */
	const char *const names[] = {"application_name", "connect_timeout",
	    "options", "target_session_attrs", "dbname", "password", NULL};
	const char *const values[] = {"onceproxy doctor", "5",
	    "-c statement_timeout=5000", kind, broker->postgres,
	    broker->password, NULL};
	return PQconnectdbParams(names, values, 1);
}

void
ledger_query(const struct conf_relay *relay, struct source_seen *ret_seen)
{
	const struct conf_broker *broker = relay->broker;
	PGconn *conn = dial_server(broker, "read-write");
	*ret_seen = (struct source_seen){.how = BROKER_SEEN, .lag = -1};
	if (PQstatus(conn) == CONNECTION_OK) {
		look_at_tables(conn, relay->table, ret_seen);
	} else {
		ret_seen->message = one_line(PQerrorMessage(conn));
		ret_seen->how = PQping(broker->postgres) == PQPING_OK
		    ? BROKER_REFUSED
		    : BROKER_SILENT;
	}
	PQfinish(conn);
}
