/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "redis/resp.h"
#include "store/replicas.h"

/*
 * One run of one script: waits for the node where there is hope, sends
 * EVALSHA (or FCALL, where store.scripting is "function"), sends the whole
 * text where Redis does not know the script, follows a slot to the server
 * that has it, and takes the reply apart.  It knows nothing of what the
 * scripts do.  A call outlives the operation that it serves and frees itself
 * at its end.  For src/store/ alone; the store's thread.
 */

/* What a script answered, valid during done() only. */
struct call_reply {
	enum verdict verdict;
	uint32_t attempt;
	int64_t now_ms; /* Redis' clock */
	struct redisReply **extra;
	size_t n_extra;
};

enum call_end {
	CALL_ANSWERED, /* reply says what */
	CALL_NOT_RUN,  /* never sent, or refused with nothing changed */
	CALL_LOST,     /* sent; executed or not, or in part */
};

struct store_call {
	struct link_call link;
	struct store *store;
	unsigned shard;    /* whose keys it touches */
	struct node *node; /* that it was sent to, or waits for */
	enum script script;
	bool whole;         /* its text was sent, not its name alone */
	bool reads;         /* as the function that only reads, because … */
	char *refused;      /* … Redis said this of the one that writes */
	bool asking;        /* on its way to a slot that is being moved */
	unsigned redirects; /* so often it was sent elsewhere */
	size_t n_args;      /* numkeys, keys and arguments */
	struct resp args;   /* the same, after the script's name */
	int64_t events_maxlen; /* the last argument of all; 0: there is none */
	int64_t give_up_us; /* clock_us() when nobody waits any more */

	struct key_id key_id; /* for the log; a renewal has none */

	/* The operation that waits, where one still does. */
	struct store_op *op;
	struct store_call *sibling; /* another call of the same operation */
	/* Where it waits for a node: */
	struct call_queue *queue;
	struct store_call *next;
	struct store_call **queued;
	/* Where its answer waits for replicas: */
	struct replicas_held held;

	/*
	 * Writes arguments into their places that depend on the node or the
	 * moment, each time before it is sent.  NULL: it has none.
	 */
	void (*prepare)(struct store_call *call);
	/*
	 * The end, exactly once; the call is freed after it.  error is of
	 * tbl/errors.h, 0 where it was answered.
	 */
	void (*done)(struct store_call *call, enum call_end end, int error,
	    const struct call_reply *reply);
	void *arg; /* of done */
};

/* A call of that script with n_args arguments to come (args). */
struct store_call *call_new(struct store *store, unsigned shard,
    enum script script, size_t n_args);
/* The same, as the first member of a struct of that size, zeroed, which is
 * freed with it. */
struct store_call *call_new_sized(struct store *store, unsigned shard,
    enum script script, size_t n_args, size_t size);
/*
 * Sends it, queues it while there is hope, or ends it with E_STORE_DOWN at
 * once; done may have been called when this returns.
 */
void call_start(struct store_call *call);
/* Sends what waited for a node, which is up now. */
void call_flush_queue(struct call_queue *queue);
/* Starts those that wait there now once more. */
void call_start_queue(struct call_queue *queue);
/* Ends what waits. */
void call_fail_queue(struct call_queue *queue);
/* Ends a call that still waits; false: it was sent. */
bool call_drop(struct store_call *call);
