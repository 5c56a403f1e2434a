/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <libpq-fe.h>
#include <stdio.h>

#include "conf/conf.h"
#include "operators/probe/source_seen.h"

/*
 * Statements to a source's database, for outbox_query.c: what a look has found
 * so far, and its questions.  It knows nothing of what they are for.  They
 * block; the main thread of a command.  Text that is returned is the caller's.
 */
struct outbox_look {
	const struct conf_source *source;
	struct source_seen *seen;
	PGconn *conn;
	char *table; /* as SQL has it */
	FILE *missing; /* rights */
	FILE *grants;
	const char *comma;
	const char *semicolon;
};

/* The text in one line. */
char *outbox_ask_flat(const char *text);
/*
 * The rows of a statement with values, for PQclear(); NULL: it failed, and the
 * first such failure is what is missing.
 */
PGresult *outbox_ask_rows(struct outbox_look *look, const char *sql,
    int count, const char *const *values);
/* Its first value; NULL: there is none, or it is null. */
char *outbox_ask_text(struct outbox_look *look, const char *sql, int count,
    const char *const *values);
/* Whether it is true, with one value, or with two where b is not NULL. */
bool outbox_ask_bool(struct outbox_look *look, const char *sql, const char *a,
    const char *b);
/* A name as SQL has it; and TABLE or SCHEMA.TABLE. */
char *outbox_ask_name(
    const struct outbox_look *look, const char *name, size_t len);
char *outbox_ask_table_name(
    const struct outbox_look *look, const char *table);
