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
enum { POSTGRES_SQL_NAME = 64 };

/* What the server says about the table's columns; all in its arena. */
struct postgres_types {
	struct span table; /* SCHEMA.TABLE as the server has found it */
	struct span id;    /* types as SQL writes them */
	struct span order; /* of the order, or of the id */
	bool ordered;      /* new rows are mostly behind those before them */
	bool has_time;     /* the order is a time */
	bool bytes;        /* the payload is a bytea */
	struct span payload; /* its type, no domain; ptr NULL: not known */
	bool versioned;    /* its rows have an xmin, all of them */
	bool lockable;     /* we may lock them, and may so step over others */
};

struct postgres_sql {
	const char *take_start; /* from the beginning */
	const char *take_above; /* behind a place */
	/* The row $1, while it is unread and of the version $2 (null: any). */
	const char *again;
	const char *there; /* whether the row $1 is there at all: "true" */
	const char *finish;
	const char *finish_result; /* NULL: there are no results */
	const char *finish_dead;
	/* The same of a dead letter, which is taken away: by its number. */
	const char *letter;
	const char *letter_result; /* NULL: there are no results */
	const char *letter_dead;
	const char *letters; /* a page of them */
	const char *pending; /* whether the row $1 is unread: "true" */
	const char *count; /* unread rows, and those of them without an id */
	const char *listen; /* NULL: no channel */
	unsigned parts; /* 1 to POSTGRES_PARTS */
	bool pair; /* a place is an order and an id, not only an id */
	bool ordered; /* as postgres_types has it */
	bool waits;   /* a finish waits where somebody has locked its row */
};

/* The columns that take_start and take_above give, all of them texts. */
enum postgres_column {
	COLUMN_ID,    /* null where it is too long to be one */
	COLUMN_ORDER, /* null where that column is */
	COLUMN_PART,
	COLUMN_AHEAD, /* "true": behind the frontier, and not null */
	COLUMN_ENTITY,
	COLUMN_TYPE,
	COLUMN_TIME, /* ms since 1970; null: not known */
	COLUMN_HEADERS,
	COLUMN_PAYLOAD,   /* null where it is, or is too large */
	COLUMN_TOO_LARGE, /* "true" */
	COLUMN_IS_NULL,   /* the payload; "true" */
	COLUMN_COUNT,     /* how many rows the limit let through */
	COLUMN_VERSION,   /* of the row's bytes; null: it has none */
};

/* The columns that letters gives, all of them texts but the payload. */
enum postgres_letter {
	LETTER_NUMBER,
	LETTER_ID,
	LETTER_ENTITY,
	LETTER_TYPE,
	LETTER_PART,
	LETTER_HEADERS, /* null where they are too large */
	LETTER_PAYLOAD, /* null where it is, or too large, or not wanted */
	LETTER_TOO_LARGE, /* "true" */
	LETTER_IS_NULL,   /* the payload; "true" */
};

/* What each session is told first. */
extern const char postgres_sql_settings[];

/* Texts in the arena. */
struct postgres_sql postgres_sql_make(struct arena *arena,
    const struct conf_source *source, const struct postgres_types *types,
    size_t most_bytes);
