/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/container.h"
#include "base/digits.h"
#include "base/must.h"
#include "base/test_build.h"
#include "record/redis_keys.h"
#include "store/claim.h"
#include "store/claim_revoke.h"
#include "store/confirm.h"
#include "store/health.h"
#include "store/operation.h"
#include "store/topology.h"

enum {
	DEADLINE_DIGITS = 13,
	/*
	 * A claim whose reply is slow, but flows, may take so many times
	 * store.timeout: a client waits for it.
	 */
	SLOW_TIMES = 4,
};

/* A claim's call, and what only claims have. */
struct claim_call {
	struct store_call call; /* first: see call_new_sized */
	struct claim_revoke *revoke; /* ready to give it back */
	bool reclaims; /* its owner holds the record already */
	bool again;    /* it was LATE once */
	bool withheld;
	/* So long after Redis' clock has jumped nothing is asked about. */
	int64_t settle_us;
	int64_t deadline_ms; /* by Redis' clock; set when it is sent */
	/* Offsets in args of what is filled in when it is sent. */
	size_t deadline_at;
	size_t caution_at;
};

/* --- its end --- */

/*
 * A claim is given back where it may have succeeded without our knowing, and
 * where it has but nobody waits for it.  So is a record that was ours to ask
 * about (reclaims) and did not become ours to execute.
 */
static bool
goes_back(const struct claim_call *claim, enum call_end how,
    const struct call_reply *reply)
{
	if (how == CALL_LOST)
		return true;
	if (how == CALL_NOT_RUN)
		return claim->reclaims;
	enum verdict verdict = reply->verdict;
	if (verdict == VERDICT_OURS || verdict == VERDICT_RECONCILE)
		return claim->call.op == NULL;
	return claim->reclaims &&
	    (verdict == VERDICT_LATE || verdict == VERDICT_REFUSED ||
		verdict == VERDICT_BUSY);
}

/*
 * LATE though it was answered in time: our notion of Redis' clock was behind,
 * as it may be after this process was stopped.  By the same answer it knows
 * better now, and Redis has done nothing: it is made again, once.
 */
static bool
comes_again(const struct claim_call *claim, enum call_end how,
    const struct call_reply *reply)
{
	return how == CALL_ANSWERED && reply->verdict == VERDICT_LATE &&
	    !claim->again && claim->call.op != NULL &&
	    clock_us() < claim->call.give_up_us;
}

static void
on_claim_done(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct claim_call *claim = CONTAINER_OF(call, struct claim_call, call);
	if (comes_again(claim, how, reply)) {
		claim->again = call->again = true;
		return;
	}
	call->store->n_claims--;
	if (goes_back(claim, how, reply) && INVARIANT(claim_given_back))
		claim_revoke_start(call->store, claim->revoke, call->node,
		    claim->deadline_ms);
	else
		claim_revoke_drop(&claim->revoke);
	operation_done(call, how, error, reply);
}

/* --- its arguments --- */

/* What is to be done about an UNKNOWN (claim.lua's policy). */
static void
put_policy(struct resp *args, const struct claim *claim)
{
	char digits[DIGITS_MAX];
	struct span parts[] = {
	    SPAN("reconcile:"), SPAN(""), SPAN(":"), claim->question};
	if (claim->reconciled) {
		resp_arg(args, SPAN("execute"));
		return;
	}
	switch (claim->policy->on_unknown) {
	case UNKNOWN_RETRY:
		resp_arg(args, SPAN("retry"));
		return;
	case UNKNOWN_RECONCILE:
		parts[1] = span_of(digits,
		    digits_put(digits,
			(uint64_t)claim->policy->reconcile.settle_ms));
		resp_joined(args, parts, sizeof parts / sizeof *parts);
		return;
	case UNKNOWN_HOLD:
		break;
	}
	resp_arg(args, SPAN("hold"));
}

/* Appends zeros as an argument, to be overwritten; their offset in args. */
static size_t
put_room(struct store_call *call, struct span zeros)
{
	resp_arg(&call->args, zeros);
	return call->args.len - 2 - zeros.len;
}

/*
 * Fills in the deadline, by the clock of the Redis that it is sent to, and
 * whether that may be given new claims.
 */
static void
on_claim_prepare(struct store_call *call)
{
	struct claim_call *claim = CONTAINER_OF(call, struct claim_call, call);
	claim->deadline_ms = redis_clock_ms(
	    link_clock(call->line->link), call->give_up_us);
	digits_pad(call->args.bytes + claim->deadline_at, DEADLINE_DIGITS,
	    claim->deadline_ms);
	bool unsafe = claim->withheld ||
	    health_fault(call->store) != FAULT_NONE;
	unsigned caution = unsafe ? 1 : 0;
	if (call->store->conf->store.wait_replicas > 0 &&
	    INVARIANT(replay_confirmed))
		caution += 2;
	const struct redis_clock *clock = link_clock(call->line->link);
	if (clock->jumped_us != 0 &&
	    clock_us() - clock->jumped_us < claim->settle_us)
		caution += 4;
	call->args.bytes[claim->caution_at] = (char)('0' + caution);
}

static void
put_entity(struct store_call *call, const struct claim *claim)
{
	operation_arg_entity(call, claim->entity);
	resp_number(&call->args, claim->entity->serialize);
}

void
claim_start(
    struct store *store, struct store_op *op, const struct claim *claim)
{
	const struct conf_idempotency *policy = claim->policy;
	must(claim->max_attempts > 0);
	operation_longest(store, policy);
	operation_begin(store, op);
	struct store_call *call = operation_call_sized(store, SCRIPT_claim,
	    &claim->key_id, claim->entity ? 16 : 12, sizeof(struct claim_call));
	struct claim_call *own = CONTAINER_OF(call, struct claim_call, call);
	/* In the order of claim.lua. */
	operation_arg_owner(call, &claim->owner);
	operation_arg_token(call, claim->fingerprint);
	resp_number(&call->args, policy->lease_ms);
	resp_number(&call->args, operation_alive_ms(policy));
	resp_number(&call->args, policy->unknown_retention_ms);
	resp_number(&call->args, claim->max_attempts);
	put_policy(&call->args, claim);
	own->deadline_at = put_room(call, SPAN("0000000000000"));
	resp_arg(&call->args, operation_one_line(claim->provenance));
	resp_number(&call->args, store->longest_ms);
	resp_number(&call->args, claim->waits + 2 * claim->brief);
	own->caution_at = put_room(call, SPAN("0"));
	if (claim->entity != NULL)
		put_entity(call, claim);
	own->revoke = claim_revoke_new(claim);
	own->reclaims = claim->reconciled;
	own->withheld = claim->withheld;
	own->settle_us =
	    (policy->lease_ms + policy->reconcile.settle_ms) * 1000;
	call->prepare = on_claim_prepare;
	call->done = on_claim_done;
	call->confirmed = confirm_record;
	operation_add(call, op);
	call->end_us =
	    clock_us() +
	    SLOW_TIMES * store->conf->store.redis.timeout_ms * 1000;
	store->n_claims++;
	call_start(call);
}

/* It was executed, so the first answer to its release is the last. */
void
claim_undo(struct store *store, const struct claim *claim)
{
	const struct node *node = topology_node_of(
	    store, redis_keys_shard(store->conf, &claim->key_id));
	claim_revoke_start(store, claim_revoke_new(claim), node, 0);
}
