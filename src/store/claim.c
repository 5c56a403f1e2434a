/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base64.h"
#include "base/container.h"
#include "base/digits.h"
#include "base/must.h"
#include "base/test_build.h"
#include "store/claim.h"
#include "store/claim_revoke.h"
#include "store/confirm.h"
#include "store/health.h"
#include "store/operation.h"
#include "store/record/redis_keys.h"
#include "store/topology.h"

enum {
	DEADLINE_DIGITS = 13,
	CAUTION_AT = 14, /* in a claim's item */
	TERMS = 5,       /* numbers in it */
	/*
	 * A claim whose reply is slow, but flows, may take so many times
	 * store.timeout: a client waits for it.
	 */
	SLOW_TIMES = 4,
};

/* A claim's call, and what only claims have. */
struct claim_call {
	struct store_call call; /* first: see call_new_sized */
	struct claim_revoke_what what; /* to give it back */
	bool reclaims; /* its owner holds the record already */
	bool again;    /* it was LATE once */
	bool withheld;
	/* So long after Redis' clock has jumped nothing is asked about. */
	int64_t settle_us;
	int64_t deadline_ms; /* by Redis' clock; set when it is sent */
	size_t item_at; /* offset in args */
};

/* --- its end --- */

/*
 * A claim is given back where it may have succeeded without our knowing, and
 * where it has but nobody waits for it.  So is a record that was ours to ask
 * about (reclaims), or became ours before an error (in_doubt), and did not
 * become ours to execute.
 */
static bool
goes_back(const struct claim_call *claim, enum call_end how,
    const struct call_reply *reply)
{
	if (how == CALL_LOST)
		return true;
	bool perhaps = claim->reclaims || claim->call.in_doubt;
	if (how == CALL_NOT_RUN)
		return perhaps;
	enum verdict verdict = reply->verdict;
	if (verdict == VERDICT_OURS || verdict == VERDICT_RECONCILE)
		return claim->call.op == NULL;
	return perhaps &&
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
		claim_revoke_start(call->store, &claim->what, call->node,
		    claim->deadline_ms);
	operation_done(call, how, error, reply);
}

/* --- its arguments --- */

/* What is to be done about an UNKNOWN (lua/claim_item.lua's policy). */
static void
put_policy(struct span parts[4], char digits[DIGITS_MAX],
    const struct claim *claim)
{
	parts[1] = parts[2] = parts[3] = SPAN("");
	if (claim->reconciled) {
		parts[0] = SPAN("execute");
	} else if (claim->policy->on_unknown == UNKNOWN_RETRY) {
		parts[0] = SPAN("retry");
	} else if (claim->policy->on_unknown == UNKNOWN_RECONCILE) {
		parts[0] = SPAN("reconcile:");
		parts[1] = span_of(digits,
		    digits_put(digits, claim->policy->reconcile.settle_ms));
		parts[2] = SPAN(":");
		parts[3] = claim->question;
	} else {
		parts[0] = SPAN("hold");
	}
}

static size_t
put_term(char *at, int64_t number)
{
	size_t len = digits_put(at, number);
	at[len] = ' ';
	return len + 1;
}

/* What the route says, as lua/claim_item.lua has it; without the policy. */
static struct span
put_terms(char *text, const struct store *store, const struct claim *claim)
{
	const struct conf_idempotency *policy = claim->policy;
	char *at = text;
	at += put_term(at, policy->lease_ms);
	at += put_term(at, operation_alive_ms(policy));
	at += put_term(at, policy->unknown_retention_ms);
	at += put_term(at, claim->max_attempts);
	at += put_term(at, store->longest_ms);
	return span_of(text, (size_t)(at - text));
}

/*
 * The claim in one argument (lua/claim_item.lua); zeros stand for what is
 * filled in when it is sent, which begins at the offset that is returned.
 */
static size_t
put_item(struct store_call *call, const struct claim *claim)
{
	char text[TERMS * (DIGITS_MAX + 1)], digits[DIGITS_MAX];
	char owner[TOKEN_CHARS + 1], print[TOKEN_CHARS + 1];
	char wants = (char)('0' + claim->waits + 2 * claim->brief);
	struct span parts[] = {SPAN("0000000000000"), span_of(&wants, 1),
	    SPAN("0"), put_terms(text, call->store, claim), SPAN(""),
	    SPAN(""), SPAN(""), SPAN(""), SPAN("\n"),
	    span_of(owner, TOKEN_CHARS), span_of(print, TOKEN_CHARS),
	    SPAN("\n"), operation_one_line(claim->provenance)};
	size_t count = sizeof parts / sizeof *parts, len = 0;
	put_policy(parts + 4, digits, claim);
	base64_encode(claim->owner.bytes, sizeof claim->owner.bytes, owner);
	base64_encode(claim->fingerprint, DIGEST_BYTES, print);
	for (size_t i = 0; i < count; i++)
		len += parts[i].len;
	resp_joined(&call->args, parts, count);
	return call->args.len - 2 - len;
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
	char *item = call->args.bytes + claim->item_at;
	digits_pad(item, DEADLINE_DIGITS, claim->deadline_ms);
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
	item[CAUTION_AT] = (char)('0' + caution);
}

static void
put_entity(struct store_call *call, const struct claim *claim)
{
	operation_arg_entity(call, claim->entity);
	resp_number(&call->args, claim->entity->serialize);
}

/* Whether lua/claims.lua may be given it. */
static bool
is_usual(const struct claim *claim)
{
	return claim->entity == NULL && claim->question.len == 0 &&
	    !claim->reconciled;
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
	    &claim->key_id, claim->entity ? 5 : 1, sizeof(struct claim_call));
	struct claim_call *own = CONTAINER_OF(call, struct claim_call, call);
	own->item_at = put_item(call, claim);
	if (is_usual(claim))
		call->joint_to = call->args.len;
	if (claim->entity != NULL)
		put_entity(call, claim);
	own->what = claim_revoke_what(claim);
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
	const struct claim_revoke_what what = claim_revoke_what(claim);
	claim_revoke_start(store, &what, node, 0);
}
