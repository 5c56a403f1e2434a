/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/loop/log.h"
#include "gate/cache.h"
#include "gate/lease.h"
#include "gate/machine.h"
#include "http/upstream/forward.h"
#include "store/journal/journal_writer.h"
#include "store/store.h"

/*
 * An execution is a claim that is ours: it is born when the claim is, sends
 * the request once, and dies when the outcome is stored or another owner has
 * decided.  It knows nothing of libmicrohttpd or of a client's connection;
 * whoever waits for it, one request at most, gets one result
 * (gate/execution_result.h).  The worker's thread only.
 */
struct worker;
struct claimant;

struct execution {
	struct machine machine;
	struct worker *worker;
	struct generation *generation;
	const struct conf_route *route;
	struct arena *arena; /* a reference: message points into it */
	struct claimant *claimant; /* NULL: it has its result, or has left */

	struct held held;
	struct lease lease;
	struct claim claim; /* to be made again when the upstream says no */
	struct store_entity entity; /* where the claim has one */
	bool asked;         /* it began with a question (reconcile) */
	bool can_ask;       /* there is a question */
	struct message question;
	struct message message;
	struct body body; /* of the request; message points into it */
	struct span request_id;
	struct span first_id; /* the first request's, for its replays */
	struct span label; /* of the claim; in arena */

	struct forward forward;
	struct answer *answer; /* what is stored; NULL: no whole answer */
	/*
	 * To the first client; NULL where answer is.  Where forward.rest is
	 * not NULL, its content is still to come from there.
	 */
	struct answer *given;
	struct fields omitted; /* of its fields, not stored */
	enum reason reason;    /* of doubt */
	bool sent;             /* a byte was accepted, or may have been */
	/* Redis has it COMPLETED, and as many replicas as must. */
	bool stored;
	bool forget;           /* a first attempt leaves no record */
	bool counts;           /* each attempt: none is to be forgotten */

	struct store_op store;
	cache_mark mark; /* before the answer was stored */
	unsigned settling; /* the step that Redis has not taken */
	unsigned tries;    /* of settling */
	bool expected;     /* its outcome is (journaled_begin) */
	bool withheld;     /* it is not sent: an earlier outcome waits */
	struct journal_op journal; /* its way to the disk */
	struct op pause;
	int64_t store_us;
};

/* The request leaves: the execution goes on without it. */
void execution_leave(struct execution *e);

/* Its answer is on its way to Redis. */
bool execution_is_completing(const struct execution *e);

/*
 * drain_timeout is over: what was sent becomes UNKNOWN with its reason, what
 * was not is released.
 */
void execution_cut(struct execution *e);

/*
 * What a request hands over.  The body is moved, the generation and the arena
 * are counted, and the rest is copied.
 */
struct execution_start {
	struct worker *worker;
	struct generation *generation;
	const struct conf_route *route;
	struct arena *arena;
	struct claimant *claimant;
	struct claim claim; /* as it was made, and answered OURS or RECONCILE */
	int64_t claimed_us;  /* when it was asked for, by clock_us */
	uint32_t attempt;
	uint32_t tries;     /* with these, its record can be made again … */
	int64_t created_ms; /* … if it is gone when the outcome comes */
	bool ask; /* the claim was answered RECONCILE: question is sent first */
	enum reason reason; /* then: why the earlier attempt is unknown */
	bool can_ask;       /* false: the question cannot be made */
	bool counts;        /* each attempt: none is to be forgotten */
	struct message question;
	struct message message; /* points into arena and body */
	struct body *body;      /* moved */
	struct span request_id;
	struct span first_id; /* the first request's; empty: it is that one */
	struct span label;
};

/*
 * Adds by what people find its payment to a line of the log: key_id, route,
 * request_id, first_request_id where that is another one, label and attempt.
 */
void execution_log(const struct execution *e, struct logline *line);

/* A new one at its first step; machine_run() sets it going. */
struct execution *execution_new(const struct execution_start *start);
