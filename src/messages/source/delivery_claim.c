/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "base/test_build.h"
#include "gate/claimant.h"
#include "gate/journal_replay.h"
#include "messages/source/delivery_private.h"
#include "messages/source/source_standing.h"

/*
 * The key of a message: it is claimed, and what that brings, or what becomes of
 * its execution, is a line of tbl/meanings.h.
 */
enum claim_found {
#define MEANING(found, step, outcome, why) FOUND_##found,
#include "tbl/meanings.h"
#undef MEANING
};

/*
 * Whether a dead letter that an operator has asked for stays one: somebody has
 * to decide first, or is at it.  Else, where that is known, he hears that it
 * goes on.
 */
static bool
keeps_letter(struct delivery *d, enum claim_found found)
{
	bool goes_on = found == FOUND_OURS || found == FOUND_FOUND_GOOD ||
	    found == FOUND_STALE ||
	    (found == FOUND_FOUND_BAD && d->source->source->refused_ack);
	if (goes_on)
		delivery_letter_begun(d);
	return found == FOUND_UNKNOWN_HELD || found == FOUND_UNKNOWN_TRIED ||
	    found == FOUND_IN_FLIGHT || found == FOUND_BROKEN;
}

/* What it means, and what is counted. */
static enum after
meet(struct delivery *d, enum claim_found found)
{
	static const struct meaning {
		enum delivery_step step;
		enum message_outcome outcome;
		const char *why;
	} meanings[] = {
#define MEANING(found, step, outcome, why)                                    \
	[FOUND_##found] = {DELIVERY_##step, MESSAGE_##outcome, why},
#include "tbl/meanings.h"
#undef MEANING
	};
	if (found != FOUND_OURS)
		delivery_probed(d);
	if (d->asked != NULL && keeps_letter(d, found))
		return delivery_letter_refuse(d, meanings[found].why);
	d->outcome = meanings[found].outcome;
	d->why = meanings[found].why;
	d->rested = MESSAGE_STATE_WAITING;
	return delivery_to(d, meanings[found].step, MORE);
}

static bool
is_good(int status)
{
	return status >= 200 && status < 400;
}

/* --- whether anything is known of its key --- */

/* Of a policy that executes again where nobody knows, no record is missed. */
static bool
misses_record(const struct delivery *d)
{
	return d->sent && !d->there &&
	    d->c.policy->on_unknown != UNKNOWN_RETRY;
}

/*
 * It may have been held, by this gateway or another one, before it was
 * restarted, or the message given to somebody else.
 */
static bool
may_be_held(const struct delivery *d)
{
	return INVARIANT(held_before) && !d->recalled && !d->sent &&
	    d->asked == NULL && d->c.policy->on_unknown != UNKNOWN_RETRY &&
	    holds_may(&d->source->holds, d->message->position);
}

/*
 * Nothing may be executed just because its record is not there: of what is too
 * old, and may have been taken before; of what was sent, and nobody knows what
 * became of it; of what may have been held, and nobody decided; of a dead
 * letter of that kind.
 */
static bool
looks_first(const struct delivery *d)
{
	bool was_unknown = d->asked != NULL &&
	    span_eq(d->letter.reason,
		span_str(source_meter_outcome(MESSAGE_UNKNOWN)));
	return ((d->old || was_unknown || may_be_held(d)) && !d->tried) ||
	    misses_record(d);
}

/* Only what would be executed is answered so. */
static bool
is_withheld(const struct store_op *op)
{
	return op->op.error == E_STORE_REFUSED &&
	    op->verdict == VERDICT_REFUSED;
}

/* It may be executed; a key that was released remembers its attempts. */
static enum after
looked(struct delivery *d)
{
	if (d->c.claim_op.attempt == 0 && may_be_held(d))
		return delivery_to(d, DELIVERY_RECALL, MORE);
	source_standing_end(d->source, STANDING_STORE);
	if (d->c.claim_op.attempt > 0) {
		d->tried = d->there = true;
		return delivery_to(d, DELIVERY_CLAIM, MORE);
	}
	if (misses_record(d))
		return meet(d, FOUND_FORGOTTEN);
	/* It is not held, which was not known yet. */
	d->recalled = true;
	if (d->asked == NULL && !d->old)
		return delivery_to(d, DELIVERY_CLAIM, MORE);
	delivery_probed(d);
	if (d->asked != NULL)
		return delivery_letter_refuse(d, "forgotten");
	delivery_condemn(d, MESSAGE_EXPIRED, SPAN(""));
	return delivery_to(d, DELIVERY_BURY, MORE);
}

/* --- whether it was held before --- */

enum after
delivery_claim_recall(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	holds_find(&d->source->holds, &d->hold, d->message->position);
	return delivery_to(d, DELIVERY_RECALLED, WAIT);
}

static enum after without_store(struct delivery *d, const char *why);

enum after
delivery_claim_recalled(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const struct store_op *op = &d->hold.op;
	const char *trouble = d->source->holds.shared.trouble;
	if (op->op.error != 0)
		return without_store(d,
		    *trouble != '\0' ? trouble : error_message(op->op.error));
	source_standing_end(d->source, STANDING_STORE);
	d->recalled = true;
	d->sent = op->verdict == VERDICT_DONE;
	return d->sent ? meet(d, FOUND_FORGOTTEN)
		       : delivery_to(d, DELIVERY_CLAIM, MORE);
}

/* --- the claim --- */

enum after
delivery_claim(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	struct claimant *c = &d->c;
	/* A process that was frozen has read on: it hears of its loss next. */
	if (!source_may_begin(d->source))
		return delivery_to(d, DELIVERY_LOOK, MORE);
	/* An outcome that Redis might not take must have a place to go. */
	if (!journal_replay_can_write(&c->worker->journal_replay)) {
		source_standing_begin(d->source, STANDING_STORE,
		    "The journal cannot be written.");
		return meet(d, FOUND_NO_STORE);
	}
	claimant_prepare(c, true);
	c->claim.max_attempts = d->source->source->retry_attempts;
	c->claim.brief = d->source->source->results == NULL && !d->whole;
	key_waiters_listen(&c->worker->waiters, &d->waiter,
	    d->busy ? &c->claim_op.holder : &c->key_id);
	/* Memory may be older than what an operator has just decided. */
	if (d->asked == NULL && claimant_find_cached(c))
		return meet(d, is_good(c->answer->status) ? FOUND_FOUND_GOOD
							  : FOUND_FOUND_BAD);
	d->looks = looks_first(d);
	claimant_claim(c, !d->looks);
	return delivery_to(d, DELIVERY_CLAIMED, WAIT);
}

/* Redis, or what it says, cannot be used: no message is to blame for that. */
static enum after
without_store(struct delivery *d, const char *why)
{
	source_standing_begin(d->source, STANDING_STORE, why);
	return meet(d, FOUND_NO_STORE);
}

static enum after
completed(struct delivery *d)
{
	/* A dead letter has the answer in it. */
	if (d->c.claim_op.brief && !is_good(d->c.claim_op.answer->status) &&
	    !d->source->source->refused_ack) {
		d->whole = true;
		answer_unref(&d->c.claim_op.answer);
		return delivery_to(d, DELIVERY_CLAIM, MORE);
	}
	claimant_take_answer(&d->c);
	return meet(d, is_good(d->c.answer->status) ? FOUND_FOUND_GOOD
						    : FOUND_FOUND_BAD);
}

/* The record says UNKNOWN: somebody has to decide, or time has to pass. */
static enum after
unknown(struct delivery *d)
{
	return meet(d,
	    d->c.policy->on_unknown == UNKNOWN_HOLD ||
		    d->c.claim_op.settle_left_ms == 0
		? FOUND_UNKNOWN_HELD
		: FOUND_UNKNOWN_TRIED);
}

/*
 * Which record holds a busy entity only the claim's answer says: so there is
 * another claim at once, from before which on it listens for that record.
 */
static enum after
busy(struct delivery *d)
{
	if (d->busy &&
	    !memcmp(&d->waiter.key_id, &d->c.claim_op.holder,
		sizeof d->waiter.key_id))
		return meet(d, FOUND_IN_FLIGHT);
	d->busy = true;
	return delivery_to(d, DELIVERY_CLAIM, MORE);
}

/* As far as the record says: it has no more than a digest of the rest. */
static void
note_mismatch(struct delivery *d)
{
	const struct store_op *op = &d->c.claim_op;
	const char *words = op->differs == 'm' ? "of another method"
	    : op->differs == 'p'
	    ? "of another path"
	    : "of the same method and path, but another query, body or header";
	if (op->first_id[0] != '\0')
		d->detail = arena_printf(d->message->arena,
		    "its key is that of request %s, %s", op->first_id,
		    words);
}

static enum after
decided(struct delivery *d)
{
	d->gone = false;
	switch (d->c.claim_op.verdict) {
	case VERDICT_OURS:
	case VERDICT_RECONCILE:
		/* Whatever it was held for is decided. */
		d->held_since_ms = 0;
		delivery_rest_held_no_more(d);
		return meet(d, FOUND_OURS);
	case VERDICT_COMPLETED:
		return completed(d);
	case VERDICT_IN_FLIGHT:
		return meet(d, FOUND_IN_FLIGHT);
	case VERDICT_BUSY:
		return busy(d);
	case VERDICT_UNKNOWN:
		d->sent = true;
		d->c.attempt = d->c.claim_op.attempt;
		return unknown(d);
	case VERDICT_FAILED:
		d->c.attempt = d->c.claim_op.attempt;
		if (d->asked != NULL && !d->released)
			return delivery_to(d, DELIVERY_RELEASE, MORE);
		return meet(d, FOUND_FAILED);
	case VERDICT_MISMATCH:
		note_mismatch(d);
		return meet(d, FOUND_MISMATCH);
	case VERDICT_STALE:
		return meet(d, FOUND_STALE);
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
	return meet(d, FOUND_BROKEN);
}

enum after
delivery_claim_answered(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const struct store_op *op = &d->c.claim_op;
	d->c.store_us = op->op.took_us;
	d->there = false;
	if (op->op.error == E_NO_MEMORY)
		return meet(d, FOUND_NOT_STORED);
	if (d->looks && is_withheld(op))
		return looked(d);
	if (op->op.error != 0)
		return without_store(d, error_message(op->op.error));
	if (op->unreadable)
		return without_store(d, "A stored answer cannot be read.");
	if (op->verdict == VERDICT_FULL)
		return without_store(d, "Too many events wait for relays.");
	source_standing_end(d->source, STANDING_STORE);
	return decided(d);
}

/* --- behind a dead letter of its lane --- */

/*
 * What was finished before the lane was parked comes again where its group was
 * reset: it is to be told from what is new, which is not to be executed now.
 */
enum after
delivery_claim_seek(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	struct claimant *c = &d->c;
	claimant_prepare(c, false);
	c->claim.max_attempts = d->source->source->retry_attempts;
	c->claim.brief = d->source->source->results == NULL;
	claimant_claim(c, false);
	return delivery_to(d, DELIVERY_SOUGHT, WAIT);
}

/* A refusal's dead letter follows the first, as what is new does. */
static bool
was_finished(const struct delivery *d)
{
	const struct store_op *op = &d->c.claim_op;
	return op->op.error == 0 && op->verdict == VERDICT_COMPLETED &&
	    !op->unreadable &&
	    (is_good(op->answer->status) || d->source->source->refused_ack);
}

enum after
delivery_claim_sought(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	struct store_op *op = &d->c.claim_op;
	if (op->op.error == E_NO_MEMORY)
		return meet(d, FOUND_NOT_STORED);
	if (op->op.error != 0 && !is_withheld(op))
		return without_store(d, error_message(op->op.error));
	d->known = was_finished(d);
	if (!d->known)
		answer_unref(&op->answer);
	return delivery_to(d, DELIVERY_FOLLOW, MORE);
}

enum after
delivery_claim_known(struct delivery *d)
{
	claimant_take_answer(&d->c);
	return meet(d, is_good(d->c.answer->status) ? FOUND_FOUND_GOOD
						    : FOUND_FOUND_BAD);
}

/* --- the execution --- */

enum after
delivery_claim_start(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	d->sent = true;
	claimant_start(&d->c);
	return delivery_to(d, DELIVERY_JOINED, WAIT);
}

/* What only the journal has is on a disk that may die. */
static bool
is_stored(const struct claimant *c)
{
	return c->stored ||
	    (c->outcome == OUTCOME_EXECUTED && !INVARIANT(acknowledged_stored));
}

/* Redis has it COMPLETED: what the upstream said, and when it is kept. */
static enum after
stored(struct delivery *d)
{
	int status = d->c.answer != NULL ? d->c.answer->status
					 : d->c.original_status;
	/* It is there, and cannot be read now: it is asked for again. */
	if (status == 0)
		return meet(d, FOUND_NOT_STORED);
	/* Not by this execution: another owner had decided. */
	if (d->c.outcome == OUTCOME_FENCED)
		return meet(
		    d, is_good(status) ? FOUND_FOUND_GOOD : FOUND_FOUND_BAD);
	return meet(d, is_good(status) ? FOUND_STORED_GOOD : FOUND_STORED_BAD);
}

enum after
delivery_claim_joined(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const struct claimant *c = &d->c;
	if (c->outcome != OUTCOME_UNREACHABLE)
		source_standing_end(d->source, STANDING_UPSTREAM);
	if (c->outcome != OUTCOME_UNREACHABLE)
		d->met = c->answer != NULL ? c->answer->status : 0;
	d->sent = c->outcome == OUTCOME_UNREACHABLE
	    ? c->claim_op.verdict == VERDICT_RECONCILE
	    : c->outcome != OUTCOME_RELEASED;
	if (is_stored(c))
		return stored(d);
	if (c->outcome == OUTCOME_RELEASED)
		return meet(d, FOUND_RELEASED);
	if (c->outcome == OUTCOME_UNREACHABLE)
		return meet(d, FOUND_NOT_SENT);
	/* It is held where a question has left it unknown, too. */
	if (c->outcome == OUTCOME_UNKNOWN)
		return meet(d, c->policy->on_unknown == UNKNOWN_HOLD ||
			    c->problem == PROBLEM_UNKNOWN_HELD
			? FOUND_UNKNOWN_HELD
			: FOUND_UNKNOWN_TRIED);
	/* The record knows better: it is asked. */
	return meet(d, FOUND_NOT_STORED);
}
