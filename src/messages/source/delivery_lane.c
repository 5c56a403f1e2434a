/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "messages/source/delivery_private.h"
#include "messages/source/source_standing.h"

/*
 * A message's turn in its lane: one of an order at a time, as they came.  Where
 * the first of a lane became a dead letter, the lane is parked, and what comes
 * behind it follows it there.
 */

bool
delivery_lane_parks(const struct delivery *d)
{
	return d->place.lane != NULL && !d->source->source->behind_go_on;
}

/* It is the first of its lane. */
static enum after
go(struct delivery *d)
{
	struct parked *parked = &d->source->parked;
	if (d->shed)
		return delivery_to(d, DELIVERY_SHAPE, MORE);
	if (delivery_is_letter(d))
		return delivery_letter_go(d);
	if (delivery_lane_parks(d) && !d->parked) {
		if (!parked_is_known(parked)) {
			delivery_unshape(d);
			return delivery_to(d, DELIVERY_LOOK, MORE);
		}
		if (parked_has(parked, &d->lane))
			return delivery_to(d,
			    d->buried ? DELIVERY_FOLLOW : DELIVERY_SEEK, MORE);
	}
	return delivery_to(
	    d, d->buried ? DELIVERY_BURY : DELIVERY_STAND, MORE);
}

enum after
delivery_lane_turn(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	if (lanes_is_first(&d->place))
		return go(d);
	lanes_wait(&d->place);
	if (lanes_rests(&d->place))
		delivery_memory_shed(d);
	return delivery_to(d, DELIVERY_TURNED, WAIT);
}

enum after
delivery_lane_turned(struct machine *machine)
{
	return go(delivery_of(machine));
}

/* --- a lane that is parked --- */

/* Redis cannot be asked, or it is somebody else's turn. */
static enum after
not_asked(struct delivery *d)
{
	const struct store_op *op = &d->park.op;
	source_standing_begin(d->source, STANDING_STORE,
	    op->op.error != 0 ? error_message(op->op.error)
			      : "Another gateway reads it now.");
	return delivery_to(d, DELIVERY_STAND, MORE);
}

/* Whether it is still, Redis says: what is known here may be old. */
enum after
delivery_lane_follow(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	if (delivery_is_letter(d) || d->known)
		parked_look(&d->source->parked, &d->park, &d->lane,
		    source_turn(d->source));
	else
		parked_behind(&d->source->parked, &d->park, &d->lane,
		    d->message->position, source_turn(d->source));
	return delivery_to(d, DELIVERY_FOLLOWED, WAIT);
}

enum after
delivery_lane_followed(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const struct store_op *op = &d->park.op;
	if (op->op.error != 0 ||
	    (op->verdict != VERDICT_DONE && op->verdict != VERDICT_GONE)) {
		/* It is asked again, from its shape on. */
		delivery_unshape(d);
		d->buried = false;
		d->outcome = MESSAGE_COUNT_;
		return not_asked(d);
	}
	source_standing_end(d->source, STANDING_STORE);
	/* It came again, before it had become the dead letter. */
	d->parked = op->verdict == VERDICT_DONE &&
	    span_eq(d->park.first, d->message->position);
	if (delivery_is_letter(d)) {
		d->behind = op->verdict == VERDICT_DONE && !d->parked;
		return delivery_letter_placed(d);
	}
	bool asks = op->verdict == VERDICT_DONE && (d->parked || !d->known);
	if (asks && delivery_first_must_prove(d))
		return delivery_to(d, DELIVERY_PROVE, MORE);
	return delivery_lane_proved(d);
}

enum after
delivery_lane_proved(struct delivery *d)
{
	d->proved = true;
	if (d->known && !d->parked)
		return delivery_claim_known(d);
	/* The first itself: its claim says the same, and frees the others. */
	if (d->known)
		answer_unref(&d->c.claim_op.answer);
	if (d->park.op.verdict != VERDICT_GONE && !d->parked) {
		delivery_condemn(d, MESSAGE_BEHIND, SPAN(""));
		return delivery_to(d, DELIVERY_FINISH, MORE);
	}
	return delivery_to(
	    d, d->buried ? DELIVERY_BURY : DELIVERY_STAND, MORE);
}

/* Before it becomes a dead letter, so that nothing slips past it. */
enum after
delivery_lane_park(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	/* What was decided of a letter's lane is over. */
	if (!delivery_lane_parks(d) || (d->parked && !delivery_is_letter(d)))
		return delivery_to(d, DELIVERY_FINISH, MORE);
	parked_park(&d->source->parked, &d->park, &d->lane,
	    d->message->position, source_turn(d->source));
	return delivery_to(d, DELIVERY_PARKED, WAIT);
}

enum after
delivery_lane_parked(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const struct store_op *op = &d->park.op;
	if (op->op.error == 0 && op->verdict == VERDICT_REFUSED) {
		source_standing_begin(d->source, STANDING_DEAD_LETTERS,
		    "10,000 orders are parked: replay or drop their first.");
		return delivery_to(d, DELIVERY_STAND, MORE);
	}
	if (op->op.error != 0 || op->verdict != VERDICT_DONE)
		return not_asked(d);
	source_standing_end(d->source, STANDING_STORE);
	d->parked = true;
	delivery_first_seen(d);
	return delivery_to(d, DELIVERY_FINISH, MORE);
}
