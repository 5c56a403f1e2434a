/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <libpq-fe.h>

#include "base/loop/loop.h"
#include "conf/conf.h"

/*
 * A connection to a PostgreSQL server that is made again whenever it is gone,
 * without ever blocking: names are looked up on another thread, each host of
 * the URI is tried by itself and with a deadline (libpq would wait for ever on
 * one that hangs), and after a round without success there is a pause that
 * grows to 5 s.
 *
 * It is in libpq's pipeline mode: batches of statements go out without waiting
 * for those before them, and their results come back in order.  A batch is one
 * transaction: all of it happens, or nothing.  It knows nothing of what the
 * statements are.  The loop's own thread.
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

/* Why nothing that a session is told lasts. */
#define POSTGRES_POOLED                                                   \
	"a pooler is in between that gives each transaction another "     \
	"session: it must pool sessions (pool_mode of PgBouncer)"

/* Why a batch failed; nothing of it happened, unless it was lost. */
struct postgres_trouble {
	bool lost; /* with its connection: whether it happened is not known */
	enum postgres_kind kind;
	unsigned statement; /* which one failed; their count: the commit */
	char state[6]; /* SQLSTATE */
	bool at_row; /* what failed was at work on some row, not on a table */
	char words[160];
};

struct postgres_pipe_events {
	/* A connection stands, and is to be set up. */
	void (*made)(void *arg);
	/* A channel that was listened to has something; NULL: none is. */
	void (*notified)(void *arg);
	/*
	 * The connection is gone, and all its batches have ended; or no host
	 * could be reached.  refused: the server answers, and not as it must.
	 * why is valid during the call.
	 */
	void (*down)(void *arg, const char *why, bool refused);
	void *arg;
};

/*
 * Begins to try, from the loop; broker outlives it, and instance is a part of
 * application_name.  beside: another one of that broker's, which stands: its
 * server is the only one that is tried, and this one is freed when that one
 * goes down.
 */
struct postgres_pipe *postgres_pipe_new(struct loop *loop,
    const struct conf_broker *broker, const char *instance,
    const struct postgres_pipe_events *events,
    const struct postgres_pipe *beside);
/*
 * At once; batches end as lost within this, and down is not called.  Nulls the
 * pointer, accepts NULL.  Allowed from within the events and the batches'
 * functions.
 */
void postgres_pipe_free(struct postgres_pipe **pipe);

/* The connection is set up. */
void postgres_pipe_ready(struct postgres_pipe *pipe);
bool postgres_pipe_is_ready(const struct postgres_pipe *pipe);
/*
 * The server answers, and not as it must: the connection, if there is one, is
 * ended and made again, with the host behind this one first.
 */
void postgres_pipe_refuse(struct postgres_pipe *pipe, const char *why);

/* A parameter: text, or the bytes of a bytea; ptr NULL: SQL's null. */
#define POSTGRES_NULL ((struct span){NULL, 0})

/*
 * A batch, of a connection that stands: begin, any statements, end.  Values are
 * given as text or bytes, and results are binary.  After an error of libpq's
 * the connection is given up, from the loop.
 *
 * result: the result of each statement (from 0), valid during the call; NULL:
 * nobody wants them.  end, or NULL: it is over, and committed if trouble is
 * NULL.
 */
void postgres_pipe_begin(struct postgres_pipe *pipe,
    void (*result)(void *arg, unsigned statement, const PGresult *result),
    void (*end)(void *arg, const struct postgres_trouble *trouble), void *arg);
void postgres_pipe_prepare(
    struct postgres_pipe *pipe, const char *name, const char *sql);
void postgres_pipe_run(struct postgres_pipe *pipe, const char *name,
    const struct span *values, unsigned count);
void postgres_pipe_query(struct postgres_pipe *pipe, const char *sql,
    const struct span *values, unsigned count);
/*
 * What the server has done so far it says at once, and not when it has 8 KiB to
 * say: so a batch that is long is not taken for a server that is away.
 */
void postgres_pipe_flush(struct postgres_pipe *pipe);
void postgres_pipe_end(struct postgres_pipe *pipe);

/* A value of a result; ptr NULL: null, or it has no such row or column. */
struct span postgres_pipe_value(const PGresult *result, int row, int column);
/* The same as a number; 0: none, or null. */
int64_t postgres_pipe_number(const PGresult *result, int row, int column);
/* Whether it is the text "true". */
bool postgres_pipe_true(const PGresult *result, int row, int column);
