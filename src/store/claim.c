/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/base64.h"
#include "base/digits.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "store/claim.h"
#include "store/record/redis_keys.h"
#include "store/record/seal.h"
#include "store/record_reply.h"
#include "store/store_health.h"
#include "store/topology.h"

enum {
	DEADLINE_AT = 1, /* in a claim's terms */
	DEADLINE_DIGITS = 13,
	ATTEMPT_DIGITS = 6,
	CAUTION_AT = 15,
	POLICY_PARTS = 6,
	/*
	 * A claim whose reply is slow, but flows, may take so many times
	 * store.timeout: a client waits for it.
	 */
	SLOW_TIMES = 4,
	AGAIN_MS = 1000, /* after Redis has refused a release */
	/* Beyond it the oldest are left until their leases expire. */
	REVOKES_MAX = 16384,
};

/* All that is needed to give a claim back. */
struct revocable {
	struct key_id key_id;
	struct owner owner;
	int64_t retention_ms;
	int64_t unknown_retention_ms;
	int64_t deadline_ms; /* by the clock of the Redis it is sent to */
	unsigned node;       /* number of that node; 0: it was not sent */
};

/* A claim's call, and what only claims have. */
struct claim_call {
	struct store_call call; /* first: see call_of_record */
	struct revocable what;
	bool reclaims; /* its owner holds the record already */
	bool again;    /* it was LATE once */
	bool withheld;
	bool looks;
	/* So long after Redis' clock has jumped nothing is asked about. */
	int64_t settle_us;
	size_t terms_at; /* offset in args */
};

/* A claim that is being given back. */
struct claim_revoke {
	struct list in_store;
	struct store *store;
	struct revocable what;
	int64_t due_us; /* when it is to be released (again) */
	bool in_flight;
	struct journal_op saving;
	bool tried; /* to save it … */
	bool saved; /* … which worked: the journal has it, and it only ends */
};

static struct revocable
what_of(const struct claim *claim)
{
	return (struct revocable){
	    .key_id = claim->key_id,
	    .owner = claim->owner,
	    .retention_ms = claim->policy->retention_ms,
	    .unknown_retention_ms = claim->policy->unknown_retention_ms,
	};
}

/* --- claims that are given back --- */

static void
end_revoke(struct claim_revoke *revoke)
{
	op_cancel(&revoke->saving.op);
	list_remove(&revoke->in_store);
	if (!revoke->saved)
		revoke->store->n_claim_revokes--;
	free(revoke);
}

/* Makes the timer fire by then; claim_release_due finds out who is due. */
static void
wake_by(struct store *store, int64_t due_us)
{
	timer_set_by(&store->claim_revoke_timer,
	    loop_now_ms(store->loop) + (due_us - clock_us() + 999) / 1000);
}

/*
 * DONE: the claim was executed, and is revoked.  Any other answer: it was not
 * executed so far.  That is final once its deadline has passed; or where
 * another node has the record now, which never gets that claim.
 */
static void
on_released(struct store_call *call, enum call_end end, int error,
    const struct call_reply *reply)
{
	struct claim_revoke *revoke = call->arg;
	revoke->in_flight = false;
	bool final = end == CALL_ANSWERED &&
	    (reply->verdict == VERDICT_DONE ||
		reply->now_ms > revoke->what.deadline_ms ||
		call->node->number != revoke->what.node ||
		!INVARIANT(giveback_again));
	if (final || revoke->saved) {
		end_revoke(revoke);
		return;
	}
	int64_t wait_ms = 0; /* lost: when the link is up again */
	if (end == CALL_ANSWERED)
		wait_ms = revoke->what.deadline_ms - reply->now_ms + 1;
	else if (error == E_STORE_REFUSED)
		wait_ms = AGAIN_MS;
	revoke->due_us = clock_us() + wait_ms * 1000;
	/* The link may be about to go down, so nothing is sent from here. */
	wake_by(call->store, revoke->due_us);
}

void
claim_release_due(void *arg)
{
	struct store *store = arg;
	int64_t now_us = clock_us();
	struct claim_revoke *revoke;
	LIST_EACH(revoke, &store->claim_revokes, in_store) {
		const struct revocable *what = &revoke->what;
		const struct node *node = topology_node_of(
		    store, redis_keys_shard(store->conf, &what->key_id));
		/* A call must be sent at once, and not fail. */
		if (revoke->in_flight || revoke->saved || node == NULL ||
		    !link_is_up(node->small.link))
			continue;
		if (revoke->due_us > now_us) {
			wake_by(store, revoke->due_us);
			continue;
		}
		struct store_call *call = call_of_record(store,
		    SCRIPT_release, &what->key_id, 6, sizeof *call);
		call_arg_token(call, what->owner.bytes);
		call_arg_attempt(call, 0);
		resp_number(&call->args, 0);
		resp_number(&call->args, what->retention_ms);
		resp_number(&call->args, what->unknown_retention_ms);
		resp_number(&call->args, store->longest_ms);
		call->done = on_released;
		call->arg = revoke;
		revoke->in_flight = true;
		call_start(call);
	}
}

/* One that the disk does not have goes on as before. */
static void
on_saved(void *arg)
{
	struct claim_revoke *revoke = arg;
	if (revoke->saving.op.error != 0)
		return;
	revoke->saved = true;
	revoke->store->n_claim_revokes--;
	/* Where a call is under way, its end is awaited. */
	if (!revoke->in_flight)
		end_revoke(revoke);
}

void
claim_save_revokes(struct store *store, struct journal_writer *writer)
{
	struct claim_revoke *revoke;
	LIST_EACH(revoke, &store->claim_revokes, in_store) {
		const struct revocable *what = &revoke->what;
		if (revoke->tried)
			continue;
		revoke->tried = true;
		const struct journal_entry entry = {
		    .kind = JOURNAL_RELEASE,
		    .key_id = what->key_id,
		    .owner = what->owner,
		    .retention_ms = what->retention_ms,
		    .unknown_retention_ms = what->unknown_retention_ms,
		    .deadline_ms = what->deadline_ms,
		    .origin = store->identity.origin,
		    .provenance = SPAN(""),
		    .answer = SPAN(""),
		};
		journal_writer_append(writer, &revoke->saving, &entry);
	}
}

static void
give_back(struct store *store, const struct revocable *what)
{
	struct claim_revoke *revoke = mem_zero(sizeof *revoke);
	revoke->what = *what;
	revoke->due_us = clock_us();
	revoke->store = store;
	op_init(&revoke->saving.op, store->loop, on_saved, revoke);
	list_add_first(&store->claim_revokes, &revoke->in_store);
	store->n_claim_revokes++;
	wake_by(store, revoke->due_us);
	if (store->n_claim_revokes > REVOKES_MAX) {
		struct claim_revoke *oldest = revoke, *other;
		LIST_EACH(other, &store->claim_revokes, in_store)
			oldest = other->in_flight ? oldest : other;
		end_revoke(oldest);
	}
}

/* It was executed, so the first answer to its release is the last. */
void
claim_undo(struct store *store, const struct claim *claim)
{
	const struct node *node = topology_node_of(
	    store, redis_keys_shard(store->conf, &claim->key_id));
	struct revocable what = what_of(claim);
	what.node = node != NULL ? node->number : 0;
	give_back(store, &what);
}

/* --- a claim's end --- */

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
	bool perhaps = claim->reclaims || claim->call.in_doubt;
	if (how != CALL_ANSWERED)
		return how == CALL_LOST || perhaps;
	enum verdict verdict = reply->verdict;
	if (verdict == VERDICT_OURS || verdict == VERDICT_RECONCILE)
		return claim->call.op == NULL;
	return perhaps &&
	    (verdict == VERDICT_LATE || verdict == VERDICT_REFUSED ||
		verdict == VERDICT_BUSY);
}

static void
on_claim_done(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct claim_call *claim = CONTAINER_OF(call, struct claim_call, call);
	/*
	 * LATE though it was answered in time: our notion of Redis' clock was
	 * behind, as it may be after this process was stopped.  By the same
	 * answer it knows better now, and Redis has done nothing: it is made
	 * again, once.
	 */
	if (how == CALL_ANSWERED && reply->verdict == VERDICT_LATE &&
	    !claim->again && call->op != NULL &&
	    clock_us() < call->give_up_us) {
		claim->again = call->again = true;
		return;
	}
	/*
	 * A record that is ours to ask about seems to have settled, by a clock
	 * that has jumped ahead, of which this answer, or one that came just
	 * before it, is the first to tell.
	 */
	if (how == CALL_ANSWERED && reply->verdict == VERDICT_RECONCILE) {
		const struct redis_clock *clock =
		    link_clock(call->channel->link);
		if (clock->jumped_us != 0 &&
		    clock->jumped_us >= call->run.link.sent_us) {
			how = CALL_LOST;
			error = E_STORE_REFUSED;
			reply = NULL;
		}
	}
	call->store->n_claims--;
	if (goes_back(claim, how, reply) && INVARIANT(claim_given_back)) {
		claim->what.node = call->node != NULL ? call->node->number : 0;
		give_back(call->store, &claim->what);
	}
	record_reply_done(call, how, error, reply);
}

/* --- its arguments --- */

/*
 * How an UNKNOWN is to be treated (lua/claim_item.lua's policy): the parts.
 * question: that of the claim, sealed; or empty.
 */
static size_t
put_policy(struct span parts[POLICY_PARTS], char digits[DIGITS_MAX],
    const struct claim *claim, struct span question)
{
	const struct conf_idempotency *policy = claim->policy;
	bool reconciles = policy->on_unknown == UNKNOWN_RECONCILE;
	int64_t settle_ms = reconciles ? policy->reconcile.settle_ms : 0;
	struct span settle = span_of(digits, digits_put(digits, settle_ms));
	if (claim->reconciled) {
		parts[0] = claim->frees ? SPAN("free:") : SPAN("execute:");
		parts[1] = claim->asked;
		return 2;
	} else if (claim->asks) {
		parts[0] = SPAN("ask:");
		parts[1] = settle;
		parts[2] = reconciles ? SPAN(":1") : SPAN(":0");
		return 3;
	} else if (claim->lost > 0) {
		digits_pad(digits, ATTEMPT_DIGITS, claim->lost);
		parts[0] = SPAN("lost:");
		parts[1] = span_of(digits, ATTEMPT_DIGITS);
		return 2;
	} else if (policy->on_unknown == UNKNOWN_RETRY) {
		parts[0] = SPAN("retry");
	} else if (policy->on_unknown != UNKNOWN_HOLD) {
		parts[0] = policy->on_unknown == UNKNOWN_WITNESS
		    ? SPAN("witness:") : SPAN("reconcile:");
		parts[1] = settle;
		parts[2] = SPAN(":");
		parts[3] = claim->query_hash;
		parts[4] = SPAN(":");
		parts[5] = question;
		return POLICY_PARTS;
	} else {
		parts[0] = SPAN("hold");
	}
	return 1;
}

static struct span
numbers_of(struct store *store, const struct claim *claim)
{
	const struct conf_idempotency *policy = claim->policy;
	int64_t alive_ms = call_outlive(store, policy);
	const int64_t list[CLAIM_NUMBERS] = {policy->lease_ms, alive_ms,
	    policy->unknown_retention_ms, claim->max_attempts,
	    store->longest_ms};
	struct claim_numbers *last = &store->claim_numbers;
	if (memcmp(last->list, list, sizeof list) != 0) {
		memcpy(last->list, list, sizeof list);
		char *at = last->text;
		for (size_t i = 0; i < CLAIM_NUMBERS; i++) {
			at += digits_put(at, list[i]);
			*at++ = ' ';
		}
		last->len = (size_t)(at - last->text);
	}
	return span_of(last->text, last->len);
}

/*
 * The claim's terms, and what is claimed (lua/claim_item.lua).  Returns at
 * which offset the terms are; zeros stand there for what is filled in when they
 * are sent.
 */
static size_t
put_item(struct store_call *call, const struct claim *claim)
{
	char digits[DIGITS_MAX];
	char owner[TOKEN_CHARS + 1], print[TOKEN_CHARS + 1];
	char wants = (char)('0' + claim->waits + 2 * claim->brief +
	    4 * claim->has_outcome);
	const struct conf_store *conf = &call->store->conf->store;
	struct arena *scratch = NULL;
	struct span question = SPAN("");
	/* A reload may name headers to ask with, but brings no keys. */
	if (claim->question.len > 0 && conf->n_encryption_keys > 0) {
		const struct seal_about about = {
		    .key_id = claim->key_id, .kind = SEAL_QUESTION};
		scratch = arena_new();
		question =
		    seal_close_text(scratch, conf, &about, claim->question);
	}
	struct span terms[4 + POLICY_PARTS] = {SPAN(" 0000000000000"),
	    span_of(&wants, 1), SPAN("0"), numbers_of(call->store, claim)};
	size_t count = 4 + put_policy(terms + 4, digits, claim, question);
	size_t terms_at = resp_joined(&call->args, terms, count);
	call->item.own_from = call->args.len;
	base64_url_encode(claim->owner.bytes, sizeof claim->owner.bytes, owner);
	base64_url_encode(claim->fingerprint, DIGEST_BYTES, print);
	const struct span own[] = {span_of(owner, TOKEN_CHARS),
	    span_of(print, TOKEN_CHARS), SPAN("\n"),
	    call_one_line(claim->provenance), SPAN("\n")};
	resp_joined(&call->args, own, sizeof own / sizeof *own);
	arena_free(&scratch);
	return terms_at;
}

/*
 * Fills in the deadline, by the clock of the Redis that it is sent to, and
 * whether that may be given new claims.
 */
static void
on_claim_prepare(struct batch_item *item)
{
	struct claim_call *claim =
	    CONTAINER_OF(item, struct claim_call, call.item);
	struct store_call *call = &claim->call;
	const struct redis_clock *clock = link_clock(call->channel->link);
	int64_t deadline_ms = redis_clock_ms(clock, call->give_up_us);
	char *terms = call->args.bytes + claim->terms_at;
	claim->what.deadline_ms = deadline_ms;
	digits_pad(terms + DEADLINE_AT, DEADLINE_DIGITS, deadline_ms);
	bool unsafe = claim->withheld ||
	    store_health_fault(call->store->health) != FAULT_NONE;
	unsigned caution = unsafe ? 1 : 0;
	if (call->store->conf->store.wait_replicas > 0 &&
	    INVARIANT(replay_confirmed))
		caution += 2;
	if (claim->looks ||
	    (clock->jumped_us != 0 &&
		clock_us() - clock->jumped_us < claim->settle_us))
		caution += 4;
	terms[CAUTION_AT] = (char)('0' + caution);
}

void
claim_own(struct claim *claim)
{
	const struct conf_idempotency *policy = claim->policy;
	owner_new(&claim->owner);
	memcpy(claim->owner.bytes, policy->mark, sizeof policy->mark);
}

void
claim_start(
    struct store *store, struct store_op *op, const struct claim *claim)
{
	const struct conf_idempotency *policy = claim->policy;
	const struct claim_revoke *revoke;
	must(claim->max_attempts > 0);
	/* A revoke that is still under way would give this one back too. */
	LIST_EACH(revoke, &store->claim_revokes, in_store)
		must(memcmp(&revoke->what.owner, &claim->owner,
			 sizeof claim->owner) != 0);
	call_begin_op(store, op);
	op->arena = claim->arena;
	struct store_call *call = call_of_record(store, SCRIPT_claim,
	    &claim->key_id, claim->entity ? 6 : 2, sizeof(struct claim_call));
	struct claim_call *own = CONTAINER_OF(call, struct claim_call, call);
	own->terms_at = put_item(call, claim);
	/* Others are none that lua/claims.lua knows. */
	if (claim->entity == NULL && claim->query_hash.len == 0 &&
	    claim->question.len == 0 && !claim->reconciled &&
	    claim->lost == 0 && !claim->asks)
		call->item.own_to = call->args.len;
	if (claim->entity != NULL) {
		call_arg_entity(call, claim->entity);
		resp_number(&call->args, claim->entity->serialize);
	}
	own->what = what_of(claim);
	own->reclaims = claim->reconciled;
	own->withheld = claim->withheld || claim->has_outcome;
	own->looks = claim->looks;
	own->settle_us =
	    (policy->lease_ms + policy->reconcile.settle_ms) * 1000;
	call->item.prepare = on_claim_prepare;
	call->done = on_claim_done;
	call->confirmed = record_reply_confirmed;
	call_join_op(call, op);
	call->end_us = call->give_up_us +
	    (SLOW_TIMES - 1) * store->conf->store.redis.timeout_ms * 1000;
	store->n_claims++;
	call_start(call);
}

void
claim_end(struct store *store)
{
	struct claim_revoke *revoke;
	LIST_EACH(revoke, &store->claim_revokes, in_store)
		end_revoke(revoke);
	timer_clear(&store->claim_revoke_timer);
}
