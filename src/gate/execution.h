/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/loop/log.h"
#include "gate/cache.h"
#include "gate/claimant.h"
#include "gate/lease.h"
#include "gate/machine.h"
#include "gate/witness.h"
#include "http/upstream/forward.h"
#include "store/outcome.h"
#include "store/store.h"

/*
 * An execution is a claim that is ours: it is born when the claim is, sends
 * the request once, and dies when the outcome is stored or another owner has
 * decided.  It knows nothing of libmicrohttpd or of a client's connection;
 * whoever waits for it, one claimant at most, gets one result.  The worker's
 * thread only.
 */
struct worker;
struct execution;

/* What came of a question about an attempt that is unknown. */
enum asked {
	ASKED_HAPPENED,
	ASKED_DID_NOT,
	ASKED_UNKNOWN,
	ASKED_AWAY, /* nor could the API, or its database, be had */
	ASKED_COUNT_,
};
/* "happened", "did-not", "unknown", "away". */
extern const char *const execution_question_words[ASKED_COUNT_];

/* Whoever has it asked, and waits for the answer.  A member of its owner. */
struct question {
	struct op op; /* done when the record says it, too */
	enum asked answer;
	struct execution *execution; /* its own */
};

struct execution {
	struct machine machine;
	struct worker *worker;
	struct generation *generation;
	const struct conf_route *route;
	struct arena *arena; /* a reference: message points into it */
	struct claimant *claimant; /* NULL: it has its result, or has left */

	struct owned_claim owned;
	struct lease lease;
	/* It is made again where the upstream says that nothing happened. */
	struct claim claim;
	struct store_entity entity; /* where the claim has one */
	/*
	 * It asks what became of an earlier attempt, until the answer is that
	 * nothing did: the API's database, where the policy has a witness, and
	 * else the upstream, by this query.  NULL: no query can be made.
	 */
	bool reconciles;
	const struct message *query; /* in arena */
	struct span by;              /* who asks */
	struct question *question;   /* or NULL */
	enum asked asked;            /* of the last answer */
	bool told;             /* the API was, what it is asked by */
	int64_t unknown_at_ms; /* since when it is, by Redis' clock */
	int64_t started_ms;    /* so long it is known to be `started` */
	int64_t claim_ms;      /* Redis answered the claim, by its clock */
	bool only_asks; /* no message: it sets free what it would send */
	struct message message;
	struct body body; /* of the request; message points into it */
	struct span request_id;
	struct span first_id; /* the first request's, for its replays */
	struct span label; /* of the claim; in arena */

	/*
	 * What the API's database has of an attempt, asked about an earlier one
	 * (reconciles), or about this one, whose answer is no 2xx.
	 */
	struct witness_op witness;
	bool started; /* that says `started`: the upstream is asked */

	struct forward forward;
	struct answer *answer; /* what is stored; NULL: no whole answer */
	/*
	 * What the first client gets; NULL where answer is, and where nobody
	 * can be given it.  Where forward.rest is not NULL, its content is
	 * still to come from there.
	 */
	struct answer *given;
	struct fields omitted; /* of its fields: they are not stored */
	enum reason reason;    /* of doubt */
	bool sent;             /* a byte was accepted, or may have been */
	bool stored;           /* as in struct claimant */
	enum release release;  /* what the record is told, where it is free */
	enum counts counts;    /* as in struct claimant */

	struct store_op store;
	cache_mark mark; /* before the answer was stored */
	unsigned settling; /* the step that Redis has not taken */
	unsigned tries;    /* of settling */
	/* Its outcome was given to the journal, and claims wait for it. */
	bool expected;
	struct journal_about awaited; /* as journal_awaited.h knows it */
	bool withheld;     /* it is not sent: an earlier outcome waits */
	struct journal_op journal; /* the outcome's way to the disk */
	struct op pause;
	int64_t store_us;
};

/*
 * What an execution begins with.  What it points to is in arena, but for the
 * claim and its reply, which are copied.
 */
struct execution_terms {
	struct worker *worker;
	struct generation *generation; /* counted */
	const struct conf_route *route;
	struct arena *arena; /* counted */
	struct claimant *claimant; /* NULL: nobody waits for it */
	const struct claim *claim;
	const struct store_op *claimed; /* its reply: OURS or RECONCILE */
	/*
	 * What is sent upstream, without its body, which is moved out of the
	 * other.  Both NULL: nothing is, it only asks, and where nothing
	 * happened the key is set free.
	 */
	const struct message *message;
	struct body *body;
	const struct message *query; /* as in the struct above */
	struct span by;
	struct question *question; /* NULL: nobody waits for an answer */
	struct span request_id, label;
	enum counts counts;
};

/*
 * Makes an execution, at its first step, of a claim that was answered OURS or
 * RECONCILE; machine_run() sets it going.
 */
struct execution *execution_new(const struct execution_terms *terms);
/*
 * Ends its exchange with the upstream, as drain_timeout is over: where it was
 * sent it becomes UNKNOWN with that reason, else it is released.
 */
void execution_cut(struct execution *e);
/*
 * Begins a line of the log with what people find its payment by: key_id, route,
 * request_id, first_request_id where that is another one, label and attempt.
 */
struct logline execution_log(const struct execution *e, enum event event);
