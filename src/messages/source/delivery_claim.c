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

/* What it means, and what is counted. */
static enum after
meet(struct delivery *d, enum found found)
{
	static const struct {
		enum delivery_step step;
		enum message_outcome outcome;
		const char *why;
	} meanings[] = {
#define MEANING(found, step, of_letter, outcome, why)                         \
	[FOUND_##found] = {DELIVERY_##step, MESSAGE_##outcome, why},
#include "tbl/meanings.h"
#undef MEANING
	};
	if (found != FOUND_OURS && found != FOUND_AGAIN)
		delivery_probed(d);
	d->outcome = meanings[found].outcome;
	d->why = meanings[found].why;
	d->rested = MESSAGE_STATE_WAITING;
	return delivery_to(d, meanings[found].step, MORE);
}

/* Redis, or what it says, cannot be used: no message is to blame for that. */
static enum after
without_store(struct delivery *d, const char *why)
{
	source_standing_begin(d->source, STANDING_STORE, why);
	return meet(d, FOUND_NO_STORE);
}

/* --- whether anything is known of its key --- */

/* Of a policy that executes again where nobody knows, no record is missed. */
static bool
misses_record(const struct delivery *d)
{
	return INVARIANT(sent_before) && d->a.sent && !d->there &&
	    d->a.c.policy->on_unknown != UNKNOWN_RETRY;
}

/*
 * Nothing may be executed just because its record is not there: of what is too
 * old, and may have been taken before; of what was sent, and nobody knows what
 * became of it.
 */
static bool
asks_first(const struct delivery *d)
{
	return (d->old && !d->tried) || misses_record(d);
}

/* It may be executed; a key that was released remembers its attempts. */
static enum after
nothing_known(struct delivery *d)
{
	source_standing_end(d->source, STANDING_STORE);
	if (d->a.c.claim_op.attempt > 0) {
		d->tried = d->there = true;
		return delivery_to(d, DELIVERY_CLAIM, MORE);
	}
	if (misses_record(d))
		return meet(d, FOUND_FORGOTTEN);
	delivery_probed(d);
	delivery_condemn(d, MESSAGE_EXPIRED, SPAN(""));
	return delivery_to(d, DELIVERY_BURY, MORE);
}

/* --- the claim --- */

enum after
delivery_claim(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	/* A process that was frozen has read on: it hears of its loss next. */
	if (!source_standing_lets_begin(d->source))
		return delivery_to(d, DELIVERY_LOOK, MORE);
	/* An outcome that Redis might not take must have a place to go. */
	if (!journal_replay_can_write(&d->source->worker->journal_replay))
		return without_store(d, "The journal cannot be written.");
	if (!attempt_claim(&d->a, !d->parks && !asks_first(d)))
		return meet(d, attempt_cached(&d->a));
	return delivery_to(d, DELIVERY_CLAIMED, WAIT);
}

/* The dead letter of its order, into the store. */
static enum after
follow(struct delivery *d)
{
	source_standing_end(d->source, STANDING_STORE);
	delivery_probed(d);
	delivery_condemn(d, MESSAGE_BEHIND, SPAN(""));
	return delivery_to(d, DELIVERY_BURY, MORE);
}

enum after
delivery_claim_answered(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const char *why;
	d->there = false;
	enum found found = attempt_claimed(&d->a, &why);
	if (found == FOUND_NO_STORE)
		return without_store(d, why);
	if (found == FOUND_NOT_STORED || found == FOUND_AGAIN)
		return meet(d, found);
	/* What was finished before its lane was parked has come again. */
	if (d->parks && found != FOUND_COMPLETED_GOOD &&
	    found != FOUND_COMPLETED_BAD)
		return follow(d);
	if (found == FOUND_NOTHING)
		return nothing_known(d);
	source_standing_end(d->source, STANDING_STORE);
	/* Whatever it was held for is decided; to ask about it decides not. */
	if (found == FOUND_OURS && d->a.c.claim_op.verdict == VERDICT_OURS)
		d->held_since_ms = 0;
	return meet(d, found);
}

/* --- the execution --- */

enum after
delivery_claim_execute(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	attempt_execute(&d->a);
	return delivery_to(d, DELIVERY_EXECUTED, WAIT);
}

enum after
delivery_claim_executed(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	return meet(d, attempt_executed(&d->a));
}
