/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/cache.h"
#include "gate/fingerprint.h"
#include "gate/key.h"
#include "gate/machine.h"
#include "gate/waiters.h"
#include "http/exchange.h"
#include "http/head_check.h"
#include "http/problem.h"
#include "store/store.h"
#include "upstream/forward.h"

/*
 * A request is a client's wait for its answer.  It dies with the client's
 * connection or when the answer is out; an execution that it started does
 * not die with it (gate/execution.h).  The worker's thread only.
 */
struct worker;
struct execution;

/* How a request ended, of tbl/outcomes.h. */
enum outcome {
#define OUTCOME(name, word, ...) OUTCOME_##name,
#include "tbl/outcomes.h"
#undef OUTCOME
	OUTCOME_COUNT_,
};

struct request {
	struct machine machine;
	struct worker *worker;
	struct generation *generation;
	const struct conf *conf; /* the generation's */
	struct exchange *x;
	struct arena *arena; /* the exchange's */
	struct span id;      /* X-Request-Id */

	struct checked_head head; /* what a good head says */
	const struct conf_route *route;
	const struct conf_idempotency *policy; /* NULL: pass-through */
	struct key key;
	bool derived; /* the key comes from the body */
	struct key_id key_id;
	char key_hex[DIGEST_HEX + 1]; /* "" while there is no key */

	struct claim claim;
	struct store_entity entity; /* where the policy has one */
	cache_mark mark; /* before the claim */
	struct waiter waiter;
	int64_t wait_until_ms; /* 0: it has not been in flight yet */
	bool waited;
	bool busy; /* it waits for its entity, not for its key */
	struct store_op claim_op;

	struct execution *execution; /* NULL: none, or it has ended for us */
	struct op join;              /* done: gate/deliver.c has its result */

	/* Pass-through; or an execution's, for the rest of a long answer. */
	struct forward forward;
	struct message message;
	struct flow up; /* the body, where it is passed on as it comes */

	/* What the client gets. */
	enum outcome outcome;
	enum problem problem; /* PROBLEM_COUNT_: the answer */
	struct span detail;
	int original_status;
	int64_t retry_after_s; /* of a problem; 0: its own */
	struct answer *answer;
	bool replay;
	struct fields omitted; /* for this client only, not stored */
	bool close;

	uint32_t attempt;
	int64_t store_us; /* -1: it was not asked */
	int64_t upstream_us;
};

/* A new request, of that exchange; worker is a struct worker.  It runs. */
void request_new(void *worker, struct exchange *x);
