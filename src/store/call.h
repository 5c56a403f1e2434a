/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/error.h"
#include "base/log.h"
#include "record/script.h"
#include "redis/resp.h"
#include "store/store_private.h"

/*
 * One run of one script: waits for the node where there is hope, sends
 * EVALSHA (or FCALL, where store.scripting is "function"), sends the whole
 * text where Redis does not know the script, and takes the reply apart.  It
 * knows nothing of what the verbs mean.  A call outlives the operation that
 * it serves and frees itself at its end.
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
	size_t deadline_at; /* where the claim's deadline stands; 0: none */
	int64_t events_maxlen; /* the last argument of all; 0: there is none */
	int64_t give_up_us; /* clock_us() when nobody waits any more */

	struct key_id key_id; /* for the log; a renewal has none */

	/* The operation that waits, where one still does. */
	struct store_op *op;
	struct store_call *sibling; /* another call of the same operation */
	/* While it waits; next also where its answer is held (replicas.c). */
	struct call_queue *queue;
	struct store_call *next;
	struct store_call **queued;
	struct redisReply *held;

	/*
	 * The end, exactly once; the call is freed after it.  error is of
	 * tbl/errors.h, 0 where it was answered.
	 */
	void (*done)(struct store_call *call, enum call_end end, int error,
	    const struct call_reply *reply);
	void *arg; /* of done */
	/* A claim's deadline on Redis' clock, once it was sent. */
	int64_t deadline_ms;
	struct claim_revoke *revoke; /* a claim: what would give it back */
	bool reclaims; /* a claim of an owner that holds the record already */
};

/* A call of that script with n_args arguments to come (args). */
struct store_call *call_new(struct store *store, unsigned shard,
    enum script script, size_t n_args);
/*
 * Sends it, queues it while there is hope, or ends it with E_STORE_DOWN at
 * once; done may have been called when this returns.
 */
void call_start(struct store_call *call);
/* The same, with a node that another one has named. */
void call_start_at(struct store_call *call, struct node *node);
/* It waits there, until the queue is started, flushed or failed. */
void call_wait(struct store_call *call, struct call_queue *queue);
/* Its end: nothing ran. */
void call_end_unrun(struct store_call *call, int error);
/* Sends what waited for a node, which is up now. */
void call_flush_queue(struct call_queue *queue);
/* Starts those that wait there now once more. */
void call_start_queue(struct call_queue *queue);
/* Ends what waits. */
void call_fail_queue(struct call_queue *queue);
/* The end of a call whose answer was held back: with that answer, or as if
 * it had never come. */
void call_answered(struct store_call *call, const struct redisReply *reply);
void call_lost(struct store_call *call, int error);
/* Ends a call that still waits; false: it was sent. */
bool call_drop(struct store_call *call);
/*
 * Of a claim: thirteen digits that call_start replaces by the deadline.  Its
 * last argument, whether new claims are refused, is written when it is sent.
 */
void call_deadline_arg(struct store_call *call);
/*
 * To the log that Redis refused something, once a second for each kind of
 * error, its first word.
 */
void call_log_refused(struct store *store, enum event event,
    const char *operation, const char *error);
