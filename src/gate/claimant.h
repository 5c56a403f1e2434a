/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/cache.h"
#include "gate/key/key.h"
#include "gate/key/scope.h"
#include "gate/key/variables.h"
#include "gate/machine.h"
#include "http/front/problem.h"
#include "http/head/head_check.h"
#include "http/upstream/forward.h"
#include "store/store.h"

/*
 * A claimant is whoever wants a key: a client's request and a message from a
 * broker have it in common.  Its head is checked, and its body is there; its
 * record gets a name and is claimed, and where that is ours an execution is
 * started, which tells the claimant its result once (gate/execution.h).  It
 * knows neither clients nor brokers, nor what its verdict means to whoever
 * waits for it.  It is a member of its owner, and uses the owner's arena.  The
 * worker's thread only.
 *
 * Circle: claimant, execution, message.  A claimant starts an execution, which
 * fills in its result; the message to the upstream is made of a claimant.
 */
struct worker;
struct execution;
struct generation;

/* How a request ends (tbl/outcomes.h). */
enum outcome {
#define OUTCOME(name, word, ...) OUTCOME_##name,
#include "tbl/outcomes.h"
#undef OUTCOME
	OUTCOME_COUNT_,
};

/*
 * Whether an attempt that the upstream has released counts towards
 * max_attempts; one of which nothing was sent never does.
 */
enum counts {
	COUNTS_BY_ANSWER, /* unless it was refused before any work */
	/* Whatever the answer; and what is to be forgotten is remembered. */
	COUNTS_ALWAYS,
	COUNTS_NEVER,
};

struct claimant {
	struct worker *worker;
	struct generation *generation;
	const struct conf *conf;       /* the generation's */
	const struct conf *store_conf; /* the one that the store began with */
	struct arena *arena;
	struct span id; /* X-Request-Id */

	/* The request. */
	struct span method;
	struct checked_head head;
	struct body *body; /* its owner's; an execution takes it over */
	bool has_body;
	bool tls;
	struct client_certificate certificate;
	struct span client; /* its address without the port, or "unix" */

	const struct conf_route *route;
	const struct conf_idempotency *policy; /* NULL: pass-through */
	struct key key;
	bool derived; /* the key comes from the body */
	struct content content; /* of the body; points into it, or decoded */
	struct body decoded;
	struct span *scope; /* the values, once they were found */
	struct span *own;   /* for a replay (gate/replay_json.h); or NULL */
	struct key_id key_id;
	char key_hex[DIGEST_HEX + 1]; /* "" while there is no key */

	struct claim claim;
	struct span label; /* of the request; may be empty */
	struct store_entity entity; /* where the policy has one */
	cache_mark mark; /* before the claim */
	struct store_op claim_op;
	struct message message;

	struct execution *execution; /* NULL: none, or it has ended for us */
	struct op join;              /* done: the result is here */
	/* The content of a long answer goes here; NULL: nobody takes it. */
	struct forward *rest;
	/* Before an execution starts: which of its attempts count. */
	enum counts counts;

	/* The result. */
	enum outcome outcome;
	enum problem problem; /* PROBLEM_COUNT_: there is an answer */
	int original_status;
	int64_t retry_after_s; /* of a problem; 0: the problem's own */
	struct answer *answer;
	bool replay;
	/*
	 * Redis has the record COMPLETED with this result, and so have as many
	 * replicas as must; false where only the journal has it.
	 */
	bool stored;
	struct fields omitted; /* for this client only, not stored */
	uint32_t attempt;
	int64_t store_us; /* that Redis took; -1: it was not asked */
	int64_t upstream_us;
	const struct conf_target *target; /* it was sent to; NULL: none */
};

/*
 * Makes a new one of zeroed memory, under the worker's present configuration,
 * to which it takes a reference; its operations wake the owner.
 */
void claimant_init(struct claimant *c, struct worker *worker,
    struct arena *arena, struct machine *owner);
/* Ends its operations, lets go of its execution and of all it refers to. */
void claimant_clear(struct claimant *c);

/*
 * Finds the route of its target, perhaps one whose path is our own; false: two
 * readings of the path lead to different ones.
 */
MUST_USE bool claimant_find_route(struct claimant *c);
/* Finds the key in its fields; KEY_MISSING also where the body may have it. */
MUST_USE enum key_verdict claimant_find_key(struct claimant *c);
/*
 * Finds the values that name the tenant, and keeps them.  *ret_refusal, zeros
 * at first, is of a token among them; while that is pending, it may become
 * another verdict.
 */
MUST_USE enum scope_verdict claimant_find_scope(
    struct claimant *c, struct token_refusal *ret_refusal);

/*
 * Reads what the body says, before the key is derived and the record named.  0;
 * E_MALFORMED: pointers go into gzip that is broken, or larger decoded than a
 * body may be; E_NO_MEMORY: the budget of the body does not allow the decoded
 * one.  A message's gzip, for which nothing is charged, is taken as it is.
 */
MUST_USE int claimant_read_content(struct claimant *c);

/*
 * Names the record, and the entity.  Returns PROBLEM_COUNT_, or a problem with
 * a sentence for the client.
 */
MUST_USE enum problem claimant_name(
    struct claimant *c, struct span *ret_detail);
/* Names the record alone, to ask Redis about it: nothing is claimed. */
MUST_USE enum problem claimant_name_record(
    struct claimant *c, struct span *ret_detail);

/* --- the claim, and its execution --- */

/*
 * Makes the next claim: the fingerprint, and as many attempts as the policy
 * allows.  waits is a member of struct claim, which may be changed before it is
 * claimed.
 */
void claimant_prepare(struct claimant *c, bool waits);
/* Makes the fingerprint alone; it covers the entity that the claim has. */
void claimant_fingerprint(struct claimant *c);
/* Takes the answer from the cache, as COMPLETED; false: it has none. */
MUST_USE bool claimant_find_cached(struct claimant *c);
/*
 * Claims the record for a new owner; claim_op has the reply.  Where executes is
 * false, nothing is executed for it: a claim that would be ours is refused
 * (withheld).
 */
void claimant_claim(struct claimant *c, bool executes);
/*
 * True while an outcome of its key, or a version of its entity, is in this
 * process and not in Redis, which may have lost the claim as well: then nothing
 * is executed for it.
 */
bool claimant_is_withheld(const struct claimant *c);
/*
 * Takes the answer of a claim that was COMPLETED; the cache keeps it too,
 * unless it is brief.
 */
void claimant_take_answer(struct claimant *c);
/*
 * Starts the execution of a claim that was answered OURS or RECONCILE; join is
 * done when there is a result.
 */
void claimant_start(struct claimant *c);
