/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/error.h"
#include "messages/source/delivery_private.h"
#include "messages/source/source_letters.h"
#include "messages/source/source_standing.h"

/*
 * A dead letter that comes back goes the way of every message, under the same
 * key.  It stays as it is where nothing would be executed and it would become
 * one again; whoever asked hears why.  The first of a parked lane frees what is
 * parked behind it, which Redis knows before it is finished.
 */

/* --- whoever asked --- */

void
delivery_letter_begun(struct delivery *d)
{
	struct inquiry *asked = d->asked;
	d->asked = NULL;
	if (asked == NULL)
		return;
	asked->done = true;
	inquiry_go_on(asked);
}

enum after
delivery_letter_refuse(struct delivery *d, const char *why)
{
	struct inquiry *asked = d->asked != NULL ? d->asked : d->dropped;
	if (asked != NULL)
		asked->refusal = why;
	if (asked != NULL && d->detail.len > 0)
		asked->detail = arena_dup(asked->arena, d->detail);
	return DONE;
}

/* --- its place --- */

static enum after
gone(struct delivery *d)
{
	d->buried = false;
	d->outcome = MESSAGE_DROPPED;
	return delivery_to(d, DELIVERY_FINISH, MORE);
}

/* Of no key, or where that was decided before, nothing is asked. */
static enum after
drop(struct delivery *d)
{
	if (d->dropped == NULL || d->buried)
		return gone(d);
	return delivery_to(d, DELIVERY_CHECK, MORE);
}

enum after
delivery_letter_go(struct delivery *d)
{
	if (delivery_lane_parks(d))
		return delivery_to(d, DELIVERY_FOLLOW, MORE);
	return delivery_letter_placed(d);
}

enum after
delivery_letter_placed(struct delivery *d)
{
	if (d->behind)
		return delivery_to(d, DELIVERY_PROVE, MORE);
	if (d->drop)
		return drop(d);
	return delivery_to(
	    d, d->buried ? DELIVERY_BURY : DELIVERY_STAND, MORE);
}

/* Another one is the first of its lane. */
enum after
delivery_letter_stays(struct delivery *d)
{
	return d->drop ? drop(d)
		       : delivery_letter_refuse(
			     d, source_meter_outcome(MESSAGE_BEHIND));
}

/* --- whether it is still there itself --- */

/*
 * With an order, or in a topic, one gateway alone decides about its letters.
 * Nor is a lane left that would wait for one that is gone.
 */
bool
delivery_letter_must_confirm(const struct delivery *d)
{
	return delivery_is_letter(d) && !d->confirmed && !d->drop &&
	    !d->buried && !delivery_lane_parks(d) &&
	    d->source->source->broker->kind != BROKER_KAFKA;
}

enum after
delivery_letter_confirm(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	delivery_first_look(d, d->message->position, false);
	return delivery_to(d, DELIVERY_CONFIRMED, WAIT);
}

/* An operator may have dropped it at another gateway. */
enum after
delivery_letter_confirmed(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	struct broker_letters *own = d->first;
	if (own->op.error != 0)
		return delivery_to(d, DELIVERY_LOOK, MORE);
	d->confirmed = delivery_first_found(own);
	if (d->confirmed) {
		own->after[0] = '\0';
		return delivery_to(d, DELIVERY_SHAPE, MORE);
	}
	snprintf(own->after, sizeof own->after, "%s", own->next);
	return own->after[0] != '\0' ? delivery_to(d, DELIVERY_CONFIRM, MORE)
				     : DONE;
}

/* --- its record --- */

enum after
delivery_letter_check(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	records_show(d->source->worker->store, &d->release, &d->c.key_id,
	    RECORDS_STATUS);
	return delivery_to(d, DELIVERY_CHECKED, WAIT);
}

/* What is being executed has a result soon, which nobody is to lose. */
enum after
delivery_letter_checked(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const struct store_op *op = &d->release.op;
	if (op->op.error != 0)
		return delivery_letter_refuse(d, "store");
	if (op->verdict == VERDICT_DONE &&
	    d->release.record.state == STATE_PROCESSING)
		return delivery_letter_refuse(d, "in-flight");
	return gone(d);
}

/* It failed before; whoever asked wants it to be tried anew. */
enum after
delivery_letter_release(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const struct records_order order = {.act = ACT_RELEASE,
	    .retention_ms = d->c.policy->retention_ms};
	records_operate(d->source->worker->store, &d->release, &d->c.key_id,
	    &order);
	return delivery_to(d, DELIVERY_RELEASED, WAIT);
}

/* Whatever it is now, the next claim says. */
enum after
delivery_letter_released(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	if (d->release.op.op.error != 0)
		return delivery_letter_refuse(d, "store");
	d->released = true;
	delivery_unshape(d);
	d->confirmed = true;
	return delivery_to(d, DELIVERY_SHAPE, MORE);
}

/* --- what is behind it --- */

enum after
delivery_letter_decide(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	parked_decide(&d->source->parked, &d->park, &d->lane,
	    d->message->position, d->drop || d->outcome == MESSAGE_DROPPED,
	    source_turn(d->source));
	return delivery_to(d, DELIVERY_DECIDED, WAIT);
}

enum after
delivery_letter_decided(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const struct store_op *op = &d->park.op;
	bool answered = op->op.error == 0 && op->verdict != VERDICT_FENCED;
	if (!answered) {
		source_standing_begin(d->source, STANDING_STORE,
		    op->op.error != 0 ? error_message(op->op.error)
				      : "Another gateway reads it now.");
		return delivery_to(d, DELIVERY_STAND, MORE);
	}
	source_standing_end(d->source, STANDING_STORE);
	d->decided = true;
	/* Somebody has freed the lane, or decided about its first. */
	d->parked = op->verdict == VERDICT_DONE;
	return delivery_to(d, DELIVERY_FINISH, MORE);
}

void
delivery_letter_over(struct delivery *d)
{
	/* It may be a dead letter all the same, of a try without an answer. */
	if (d->parked && d->buried && d->finish.finished == BROKER_NOT_PENDING)
		source_letters_check(
		    d->source, &d->lane, d->message->position);
	if ((d->parked && !d->buried) || (d->behind && d->drop))
		source_letters_next(d->source, &d->lane, d->message->position);
}
