/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "conf/conf.h"

/*
 * The statements for a table, made of what its columns are named and of which
 * types they are.  Pure: it talks to no server.  Any thread.
 *
 * Every parameter is given as text (or bytea) and cast to the column's type, so
 * that an id of any type is compared as the server compares it.
 */
enum { POSTGRES_PARTS = 32 };

/* What the server says about the table's columns; all in its arena. */
struct postgres_types {
	struct span id;     /* types as SQL writes them */
	struct span order;  /* of the order, or of the id */
	struct span finish; /* of the column that tells what is unread */
	struct span payload; /* what it is made of; ptr NULL: not known */
	bool bytes;         /* the payload is a bytea */
	bool rises;    /* new rows are mostly behind those before them */
	bool has_time; /* the order is a time */
};

struct postgres_sql {
	/*
	 * Rows in their order: at most $1, without those of the ids $2, of the
	 * parts $3 (null: all), as many as begin within $4 bytes; _above:
	 * behind the place of the id $7 and the order $8.  Which of them are
	 * beyond that of the id $5 and the order $6 is a column.
	 */
	const char *take_start;
	const char *take_above;
	/*
	 * The row $1 is finished, while it is unread and of the version $2
	 * (null: any), and what is put is put: "done"; or nothing happened,
	 * "kept": it could have been finished, "anew": it is another, or read
	 * by now, "gone": it is not there.
	 */
	const char *finish;
	const char *finish_result; /* NULL: there are no results */
	const char *finish_dead;
	/* The copies of the row $1 of the source $2 are deleted. */
	const char *mark;
	const char *mark_result;
	/* Dead letters behind the number $1, of the source $2, at most $3. */
	const char *copies;
	const char *origin; /* of the newest one of the source $1 */
	const char *make_results; /* where it is not there */
	const char *make_dead;
	const char *count;  /* unread rows */
	const char *listen; /* NULL: no channel */
	unsigned parts; /* 1 to POSTGRES_PARTS */
	bool rises; /* as postgres_types has it */
};

/*
 * The columns of a take, and of copies, whose order is their number; all of
 * them texts, but a payload of bytes.
 */
enum postgres_column {
	COLUMN_ID,
	COLUMN_ORDER, /* null where that column is */
	COLUMN_PART,
	COLUMN_BEYOND, /* "true": beyond the mark, or there is none */
	COLUMN_ENTITY,
	COLUMN_TYPE,
	COLUMN_TIME, /* ms since 1970; null: not known */
	COLUMN_HEADERS,
	COLUMN_PAYLOAD,   /* null where it is, or is too large */
	COLUMN_TOO_LARGE, /* "true" */
	COLUMN_COUNT,     /* how many rows the limit let through */
	COLUMN_VERSION,   /* of the row's bytes */
};

/* What each session is told first. */
extern const char postgres_sql_settings[];
extern const char postgres_sql_session[]; /* and that of a reader */

/* Texts in the arena. */
struct postgres_sql postgres_sql_make(struct arena *arena,
    const struct conf_source *source, const struct postgres_types *types,
    size_t most_bytes);

/* One statement that makes a table which is not there; columns: with (). */
const char *postgres_sql_make_table(
    struct arena *arena, const char *table, const char *columns);
