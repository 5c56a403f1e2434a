/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <libpq-fe.h>

#include "base/loop/loop.h"
#include "base/span.h"

/*
 * A connection in libpq's pipeline mode: batches of statements go out without
 * waiting for those before them, and their results come back in order.  A batch
 * is one transaction: all of it happens, or nothing.  It knows nothing of what
 * the statements are.  A batch is its owner's, and lives until its end was
 * called.  The loop's own thread.
 */
struct postgres_pipe;

/* What a refusal is about, by its SQLSTATE: its words are in any language. */
enum postgres_kind {
	/*
	 * The table, its rights, or what nobody has foreseen: all that is asked
	 * of it is refused.
	 */
	POSTGRES_OTHER,
	POSTGRES_LOCKED, /* somebody else has locked it for too long */
	POSTGRES_PASSES, /* the server is short of something: later */
	/*
	 * What only another connection changes: the server does not write any
	 * more, what was prepared is out of date, a column has another type.
	 */
	POSTGRES_ANOTHER,
	/*
	 * Of one row, or of what is put with it, while others are taken:
	 * values, constraints, what triggers raise, or take too long for.
	 */
	POSTGRES_ROW,
};

/* Why a batch failed; nothing of it happened, unless it was lost. */
struct postgres_trouble {
	bool lost; /* with its connection: whether it happened is not known */
	enum postgres_kind kind;
	unsigned statement; /* which one failed; their count: the commit */
	char state[6]; /* SQLSTATE */
	bool at_row; /* what failed was at work on some row, not on a table */
	char words[160];
};

struct postgres_batch {
	/*
	 * The result of its statement (from 0), valid during the call; NULL:
	 * nobody wants them.
	 */
	void (*result)(struct postgres_batch *batch, unsigned statement,
	    const PGresult *result);
	/* The end; trouble NULL: it is committed.  It may free the batch. */
	void (*end)(struct postgres_batch *batch,
	    const struct postgres_trouble *trouble);
	/* The pipe's own: */
	struct postgres_batch *next;
	unsigned statements;
	unsigned at;
	bool failed;
	struct postgres_trouble trouble;
};

/* A parameter: text, or the bytes of a bytea; ptr NULL: SQL's null. */
#define POSTGRES_NULL ((struct span){NULL, 0})

struct postgres_pipe_events {
	/* A channel that was listened to has something. */
	void (*notified)(void *arg);
	/*
	 * The connection is broken, or hangs; the pipe is to be freed, then or
	 * later.  why is valid during the call.
	 */
	void (*broke)(void *arg, const char *why);
	void *arg;
};

/* Takes the connection over. */
struct postgres_pipe *postgres_pipe_new(struct loop *loop, PGconn *conn,
    const struct postgres_pipe_events *events);
/*
 * Ends the connection, and every open batch as lost; nulls the pointer, accepts
 * NULL.  Allowed from within the events and the batches' functions.
 */
void postgres_pipe_free(struct postgres_pipe **pipe);

/*
 * A batch: begin, any statements, end.  Values are given as text or bytes, and
 * results are binary.  After an error of libpq's the pipe breaks, from the
 * loop.
 */
void postgres_pipe_begin(
    struct postgres_pipe *pipe, struct postgres_batch *batch);
void postgres_pipe_prepare(
    struct postgres_pipe *pipe, const char *name, const char *sql);
void postgres_pipe_run(struct postgres_pipe *pipe, const char *name,
    const struct span *values, unsigned count);
void postgres_pipe_query(struct postgres_pipe *pipe, const char *sql,
    const struct span *values, unsigned count);
void postgres_pipe_end(struct postgres_pipe *pipe);

/* A value of a result; ptr NULL: null, or it has no such row or column. */
struct span postgres_pipe_value(const PGresult *result, int row, int column);
/* The same as a number; 0: none, or null. */
int64_t postgres_pipe_number(const PGresult *result, int row, int column);
/* Whether it is the text "true". */
bool postgres_pipe_true(const PGresult *result, int row, int column);

/* The server's or libpq's words on one line, cut to size - 1 bytes. */
void postgres_pipe_words(const char *from, char *ret_words, size_t size);
