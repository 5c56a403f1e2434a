/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "operators/probe/outbox_ask_private.h"

char *
outbox_ask_flat(const char *text)
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

PGresult *
outbox_ask_rows(struct outbox_look *look, const char *sql, int count,
    const char *const *values)
{
	PGresult *result = PQexecParams(
	    look->conn, sql, count, NULL, values, NULL, NULL, 0);
	ExecStatusType status = PQresultStatus(result);
	if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
		return result;
	if (look->seen->missing == NULL)
		look->seen->missing =
		    outbox_ask_flat(PQresultErrorMessage(result));
	PQclear(result);
	return NULL;
}

char *
outbox_ask_text(struct outbox_look *look, const char *sql, int count,
    const char *const *values)
{
	PGresult *result = outbox_ask_rows(look, sql, count, values);
	char *text = NULL;
	if (result != NULL && PQntuples(result) > 0 &&
	    !PQgetisnull(result, 0, 0))
		text = mem_str(span_str(PQgetvalue(result, 0, 0)));
	PQclear(result);
	return text;
}

bool
outbox_ask_bool(struct outbox_look *look, const char *sql, const char *a,
    const char *b)
{
	const char *const values[] = {a, b};
	char *text = outbox_ask_text(look, sql, b != NULL ? 2 : 1, values);
	bool yes = text != NULL && strcmp(text, "t") == 0;
	free(text);
	return yes;
}

char *
outbox_ask_name(const struct outbox_look *look, const char *name, size_t len)
{
	char *made = PQescapeIdentifier(look->conn, name, len);
	char *copy = mem_str(span_str(made != NULL ? made : "\"\""));
	PQfreemem(made);
	return copy;
}

char *
outbox_ask_table_name(const struct outbox_look *look, const char *table)
{
	const char *dot = strchr(table, '.');
	if (dot == NULL)
		return outbox_ask_name(look, table, strlen(table));
	char *schema = outbox_ask_name(look, table, (size_t)(dot - table));
	char *name = outbox_ask_name(look, dot + 1, strlen(dot + 1));
	char *both = mem_printf("%s.%s", schema, name);
	free(schema);
	free(name);
	return both;
}
