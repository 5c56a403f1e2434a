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
 * A claimant is whoever wants a key: what a client's request and a message from
 * a broker have in common.  It is a request whose head is checked and whose
 * body is there; its key gets a name, its record is claimed, and where that is
 * ours an execution is started, which tells the claimant its result once
 * (gate/execution.h).  It knows neither clients nor brokers, nor what its
 * verdict means to whoever waits for it.  A member of its owner, whose arena it
 * uses; the worker's thread only.
 *
 * Circle: claimant, execution, message.  A claimant starts an execution, which
 * fills in its result; the message to the upstream is made of a claimant.
 */
struct worker;
struct execution;
struct generation;

/* How it ended, of tbl/outcomes.h. */
enum outcome {
#define OUTCOME(name, word, ...) OUTCOME_##name,
#include "tbl/outcomes.h"
#undef OUTCOME
	OUTCOME_COUNT_,
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
	struct span *scope; /* its values, once they were found */
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
	struct forward *rest; /* where a long answer's content goes; or NULL */
	bool counts; /* each attempt: none is to be forgotten */

	/* The result. */
	enum outcome outcome;
	enum problem problem; /* PROBLEM_COUNT_: the answer */
	int original_status;
	int64_t retry_after_s; /* of a problem; 0: its own */
	struct answer *answer;
	bool replay;
	/*
	 * Redis has the record COMPLETED, and as many replicas as must, with
	 * what this result says; false where only the journal has it.
	 */
	bool stored;
	struct fields omitted; /* for this client only, not stored */
	uint32_t attempt;
	int64_t store_us; /* -1: it was not asked */
	int64_t upstream_us;
	const struct conf_target *target; /* it was sent to; NULL: none */
};

/*
 * A new one, zeroed, under the worker's present configuration, to which it
 * takes a reference; owner is the machine that its operations wake.
 */
void claimant_init(struct claimant *c, struct worker *worker,
    struct arena *arena, struct machine *owner);
/* Ends its operations, lets go of its execution and of all it refers to. */
void claimant_clear(struct claimant *c);

/*
 * The route of its target, perhaps one whose path is our own; false: two
 * readings lead to different ones.
 */
MUST_USE bool claimant_find_route(struct claimant *c);
/* The key among its fields; KEY_MISSING too where the body may make one. */
MUST_USE enum key_verdict claimant_find_key(struct claimant *c);
/*
 * Finds what names the tenant in the request, once, and keeps it.  Of INVALID,
 * *ret_message is a sentence for the client.
 */
MUST_USE enum scope_verdict claimant_find_scope(
    struct claimant *c, const char **ret_message);

/* For the values of the variables of its route's templates. */
struct variables claimant_variables(const struct claimant *c);

/*
 * The key of the body, where it comes from there; KEY_MISSING: the body has
 * none.
 */
MUST_USE enum key_verdict claimant_derive_key(struct claimant *c);
/*
 * Names the record, and the entity.  PROBLEM_COUNT_; or what is wrong, with a
 * sentence for the client.
 */
MUST_USE enum problem claimant_name(
    struct claimant *c, struct span *ret_detail);
/* Names the record alone, to ask Redis about it: nothing is claimed. */
MUST_USE enum problem claimant_name_record(
    struct claimant *c, struct span *ret_detail);

/* --- the claim, and what comes of it --- */

/*
 * Makes the claim that comes next: a new owner, the fingerprint, and as many
 * attempts as the policy allows.  waits: as in struct claim, whose members the
 * owner may change before it claims.
 */
void claimant_prepare(struct claimant *c, bool waits);
/* Its fingerprint alone; where it has an entity, that is left out. */
void claimant_fingerprint(struct claimant *c);
/* True where the cache has the answer: then it is here, as COMPLETED. */
MUST_USE bool claimant_find_cached(struct claimant *c);
/*
 * Asks Redis; claim_op has what it says.  executes: false: nothing is executed
 * for it, and where the claim would be ours it is REFUSED.
 */
void claimant_claim(struct claimant *c, bool executes);
/*
 * True while an outcome of its key, or a version of its entity, is in this
 * process and not in Redis, which may have lost the claim as well: then nothing
 * is executed for it.
 */
bool claimant_is_withheld(const struct claimant *c);
/*
 * The claim's verdict is COMPLETED: takes the answer, which the cache keeps
 * unless it is brief.
 */
void claimant_take_answer(struct claimant *c);
/* OURS or RECONCILE: an execution begins; join is done when it has a result. */
void claimant_start(struct claimant *c);
