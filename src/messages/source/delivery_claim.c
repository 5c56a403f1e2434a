/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "base/test_build.h"
#include "gate/journal_replay.h"
#include "messages/source/delivery_private.h"
#include "messages/source/source_standing.h"

/*
 * The key of a message: it is claimed, and what that brings, or what becomes of
 * its execution, is a line of tbl/meanings.h.
 */
enum found {
#define MEANING(found, step, of_letter, outcome, why) FOUND_##found,
#include "tbl/meanings.h"
#undef MEANING
};

/* What it means, and what is counted. */
static enum after
meet(struct delivery *d, enum found found)
{
	static const struct meaning {
		enum delivery_step step, of_letter;
		enum message_outcome outcome;
		const char *why;
	} meanings[] = {
#define MEANING(found, step, of_letter, outcome, why)                         \
	[FOUND_##found] = {DELIVERY_##step, DELIVERY_##of_letter,              \
	    MESSAGE_##outcome, why},
#include "tbl/meanings.h"
#undef MEANING
	};
	const struct meaning *meaning = &meanings[found];
	if (found != FOUND_OURS && found != FOUND_AGAIN)
		source_standing_tried(d->source, &d->stand);
	d->outcome = meaning->outcome;
	d->why = meaning->why;
	d->rested = MESSAGE_STATE_WAITING;
	return delivery_to(d,
	    d->replay != NULL ? meaning->of_letter : meaning->step, MORE);
}

/* Redis, or what it says, cannot be used: no message is to blame for that. */
static enum after
without_store(struct delivery *d, const char *why)
{
	if (d->replay == NULL)
		source_standing_begin(d->source, STANDING_STORE, why);
	return meet(d, FOUND_NO_STORE);
}

/* --- whether anything is known of its key --- */

/* Of a policy that executes again where nobody knows, no record is missed. */
static bool
misses_record(const struct delivery *d)
{
	return INVARIANT(sent_before) && d->sent > 0 && !d->there &&
	    d->c.policy->on_unknown != UNKNOWN_RETRY;
}

/*
 * It may be executed; a key that was released remembers its attempts.  Numbers
 * of attempts only rise, whoever releases the key: where the record is of one
 * before that was sent, Redis has forgotten that.
 */
static enum after
nothing_known(struct delivery *d)
{
	bool of_before = misses_record(d) && d->c.claim_op.attempt < d->sent;
	if (d->c.claim_op.attempt > 0 && !of_before) {
		d->tried = d->there = true;
		return delivery_to(d, DELIVERY_CLAIM, MORE);
	}
	if (misses_record(d) || d->replay != NULL)
		return meet(d, FOUND_FORGOTTEN);
	source_standing_tried(d->source, &d->stand);
	delivery_condemn(d, MESSAGE_EXPIRED, SPAN(""));
	return delivery_to(d, DELIVERY_BURY, MORE);
}

/* --- the claim --- */

static enum found
completed_as(int status)
{
	/* 0: it was executed, and nobody knows what the answer was. */
	return status == 0 || (status >= 200 && status < 300) || status == 303
	    ? FOUND_COMPLETED_GOOD
	    : FOUND_COMPLETED_BAD;
}

/*
 * What only the journal had, when it was executed, was stored since: it is its
 * own all the same.
 */
static enum found
as_its_own(const struct delivery *d, enum found found)
{
	bool is_own = d->own_id.len > 0 && d->c.answer != NULL &&
	    span_eq(d->c.answer->request_id, d->own_id);
	return !is_own ? found
	    : found == FOUND_COMPLETED_GOOD ? FOUND_STORED_GOOD
	    : found == FOUND_COMPLETED_BAD  ? FOUND_STORED_BAD
					    : found;
}

/*
 * Nothing may be executed just because its record is not there: of what is too
 * old, or a letter as nobody knew its outcome, and may have been taken before;
 * of what was sent, and nobody knows what became of it.  Nor is anything by who
 * has been frozen for longer than it is his: he hears of that next.
 */
enum after
delivery_claim(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const struct conf_source *conf = d->source->source;
	struct claimant *c = &d->c;
	bool is_ours = d->replay != NULL
	    ? clock_us() < d->replay->until_us
	    : source_standing_lets_begin(d->source);
	if (!is_ours)
		return delivery_to(d, DELIVERY_LOOK, MORE);
	/* An outcome that Redis might not take must have a place to go. */
	if (!journal_replay_can_write(&c->worker->journal_replay))
		return without_store(d, "The journal cannot be written.");
	claimant_prepare(c, true);
	c->claim.max_attempts = conf->retry_attempts;
	c->claim.brief = (conf->results == NULL && !d->whole) || d->bare;
	c->claim.lost = d->lost ? d->sent : 0;
	c->claim.looks = d->looks;
	d->lost = false;
	d->asks = d->parks || (d->old && !d->tried) || misses_record(d);
	key_waiters_listen(&c->worker->waiters, &d->waiter,
	    d->busy ? &c->claim_op.holder : &c->key_id);
	/* Memory may be older than what an operator decided of a letter. */
	bool cached =
	    !d->asks && d->replay == NULL && claimant_find_cached(c);
	if (!cached)
		claimant_claim(c, !d->asks);
	delivery_note(d);
	return cached ? meet(
			    d, as_its_own(d, completed_as(c->answer->status)))
		      : delivery_to(d, DELIVERY_CLAIMED, WAIT);
}

/* A letter has the answer in it. */
static enum found
completed(struct delivery *d)
{
	struct store_op *op = &d->c.claim_op;
	if (op->brief && d->bare)
		op->answer->not_kept = true;
	else if (op->brief && !d->source->source->refused_ack &&
	    completed_as(op->answer->status) == FOUND_COMPLETED_BAD) {
		d->whole = true;
		answer_unref(&op->answer);
		return FOUND_AGAIN;
	}
	claimant_take_answer(&d->c);
	return completed_as(d->c.answer->status);
}

/* As far as the record says: it has no more than a digest of the rest. */
static enum found
mismatch(struct delivery *d)
{
	const struct store_op *op = &d->c.claim_op;
	const char *words = op->differs == 'm' ? "of another method"
	    : op->differs == 'p'
	    ? "of another path"
	    : "of the same method and path, but another query, body or header";
	if (op->first_id[0] != '\0')
		d->detail = arena_printf(d->arena,
		    "its key is that of request %s, %s", op->first_id,
		    words);
	return FOUND_MISMATCH;
}

/* What the record is.  NOTHING: it asked, and nobody is at it or knows more. */
static enum found
found_by_verdict(struct delivery *d)
{
	const struct store_op *op = &d->c.claim_op;
	switch (op->verdict) {
	case VERDICT_OURS:
	case VERDICT_RECONCILE:
		return FOUND_OURS;
	case VERDICT_COMPLETED:
		return completed(d);
	case VERDICT_IN_FLIGHT:
		/* Whoever is at it may have sent it, and Redis forget that. */
		d->sent = op->attempt;
		d->again_us = clock_us();
		return FOUND_IN_FLIGHT;
	case VERDICT_BUSY:
		/*
		 * Which record holds a busy entity only this answer says: so
		 * there is another claim at once, from before which on it
		 * listens for that record.
		 */
		if (d->busy &&
		    !memcmp(&d->waiter.key_id, &op->holder,
			sizeof d->waiter.key_id))
			return FOUND_IN_FLIGHT;
		d->busy = true;
		return FOUND_AGAIN;
	case VERDICT_UNKNOWN:
		if (misses_record(d) && op->attempt < d->sent)
			return FOUND_FORGOTTEN; /* as in nothing_known() */
		/* Somebody has to decide, or time has to pass. */
		d->sent = d->c.attempt = op->attempt;
		return d->c.policy->on_unknown == UNKNOWN_HOLD ||
			op->settle_left_ms == 0
		    ? FOUND_UNKNOWN_HELD
		    : FOUND_UNKNOWN_TRIED;
	case VERDICT_FAILED:
		d->c.attempt = op->attempt;
		return FOUND_FAILED;
	case VERDICT_MISMATCH:
		return mismatch(d);
	case VERDICT_STALE:
		return FOUND_STALE;
	case VERDICT_FULL:
	case VERDICT_BROKEN:
	case VERDICT_LATE:
	case VERDICT_REFUSED:
	case VERDICT_DONE:
	case VERDICT_FENCED:
	case VERDICT_GONE:
	case VERDICT_COUNT_:
		break;
	}
	/* Or what no claim is answered: it is not to be believed. */
	return FOUND_BROKEN;
}

/* The same, where the store can be used: else *ret_why. */
static enum found
found_by_claim(struct delivery *d, const char **ret_why)
{
	const struct claimant *c = &d->c;
	const struct store_op *op = &c->claim_op;
	d->c.store_us = op->op.took_us;
	d->known_us = clock_us() - op->op.took_us;
	d->bare |= op->beyond;
	if (op->op.error == E_NO_MEMORY)
		return FOUND_NOT_STORED;
	/* Only what would be executed is refused, where no outcome waits. */
	if (d->asks && !c->claim.has_outcome &&
	    op->op.error == E_STORE_REFUSED && op->verdict == VERDICT_REFUSED)
		return FOUND_NOTHING;
	*ret_why = op->op.error != 0 ? error_message(op->op.error)
	    : op->unreadable
	    ? "A stored answer cannot be read."
	    : op->verdict == VERDICT_FULL
	    ? "Too many events wait for relays."
	    : NULL;
	return *ret_why != NULL ? FOUND_NO_STORE : found_by_verdict(d);
}

enum after
delivery_claim_answered(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const char *why = "";
	d->there = false;
	enum found found = found_by_claim(d, &why);
	delivery_note(d);
	if (found == FOUND_NO_STORE)
		return without_store(d, why);
	if (found == FOUND_NOT_STORED || found == FOUND_AGAIN)
		return meet(d, found);
	source_standing_end(d->source, STANDING_STORE);
	/* Its API was asked nothing: who has waited next tries. */
	if (found != FOUND_OURS && found != FOUND_NOTHING)
		source_standing_leave(d->source, &d->stand);
	/*
	 * It follows the dead letter of its order, unless it was finished
	 * before its lane was parked, and has come again.
	 */
	if (d->parks && found != FOUND_COMPLETED_GOOD &&
	    found != FOUND_COMPLETED_BAD) {
		source_standing_tried(d->source, &d->stand);
		delivery_condemn(d, MESSAGE_BEHIND, SPAN(""));
		return delivery_to(d, DELIVERY_BURY, MORE);
	}
	if (found == FOUND_NOTHING)
		return nothing_known(d);
	/* Whatever it was held for is decided; to ask about it decides not. */
	if (found == FOUND_OURS && d->c.claim_op.verdict == VERDICT_OURS)
		d->held_since_ms = 0;
	/* What has failed in a replay has used up its allowance. */
	if (found == FOUND_FAILED && d->replay != NULL && d->replay->tried) {
		delivery_condemn(d, MESSAGE_EXHAUSTED, SPAN(""));
		return delivery_to(d, DELIVERY_STAY, MORE);
	}
	return meet(d, as_its_own(d, found));
}

/* --- the execution --- */

enum after
delivery_claim_execute(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	d->sent = d->c.claim_op.attempt;
	if (d->replay != NULL)
		d->replay->tried = true;
	d->c.counts = source_standing_attempt_counts(d->source, &d->refusals)
	    ? COUNTS_ALWAYS
	    : COUNTS_NEVER;
	claimant_start(&d->c);
	delivery_note(d);
	return delivery_to(d, DELIVERY_EXECUTED, WAIT);
}

static enum found
found_by_execution(struct delivery *d)
{
	const struct claimant *c = &d->c;
	bool unreachable = c->outcome == OUTCOME_UNREACHABLE;
	if (!unreachable)
		d->met = c->answer != NULL ? c->answer->status : 0;
	bool sent = unreachable ? c->claim_op.verdict == VERDICT_RECONCILE
				: c->outcome != OUTCOME_RELEASED;
	d->sent = sent ? c->attempt : 0;
	/* What only the journal has is on a disk that may die. */
	if (c->stored ||
	    (c->outcome == OUTCOME_EXECUTED &&
		!INVARIANT(acknowledged_stored))) {
		int status = delivery_status(d);
		enum found as = completed_as(status);
		/* It cannot be read now: it is asked for again. */
		if (status == 0 && c->problem != PROBLEM_RESPONSE_NOT_SAID)
			return FOUND_NOT_STORED;
		/* Not by this execution: another owner had decided. */
		if (c->outcome == OUTCOME_FENCED)
			return as;
		return as == FOUND_COMPLETED_GOOD ? FOUND_STORED_GOOD
						  : FOUND_STORED_BAD;
	}
	if (c->outcome == OUTCOME_RELEASED)
		return FOUND_RELEASED;
	if (unreachable)
		return FOUND_NOT_SENT;
	/* It is held where a question has left it unknown, too. */
	if (c->outcome == OUTCOME_UNKNOWN)
		return c->policy->on_unknown == UNKNOWN_HOLD ||
			c->problem == PROBLEM_UNKNOWN_HELD
		    ? FOUND_UNKNOWN_HELD
		    : FOUND_UNKNOWN_TRIED;
	/* The record knows better: it is asked. */
	return FOUND_NOT_STORED;
}

enum after
delivery_claim_executed(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	enum found found = found_by_execution(d);
	d->known_us = clock_us() - d->c.store_us;
	delivery_note(d);
	if (found == FOUND_NOT_STORED)
		d->own_id = arena_dup(d->arena, d->c.id);
	/* An answer may be lost, and the next try say what it was. */
	bool again = found == FOUND_UNKNOWN_TRIED && d->tries > 0;
	if (found == FOUND_RELEASED || again)
		source_standing_refused_by_api(
		    d->source, &d->refusals, d->met);
	else if (found == FOUND_UNKNOWN_HELD || found == FOUND_UNKNOWN_TRIED)
		source_standing_sent(d->source);
	else if (found != FOUND_NOT_SENT)
		source_standing_executed(d->source, &d->refusals);
	return meet(d, found);
}
