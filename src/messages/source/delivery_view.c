/* SPDX-License-Identifier: BSD-2-Clause */
#include "messages/source/delivery_private.h"
#include "messages/source/source_credit.h"
#include "messages/source/source_standing.h"

/* A message that rests keeps its state while its source stands still. */
enum message_state
delivery_view_state(const struct delivery *d)
{
	unsigned step = d->machine.step;
	bool waits = step == DELIVERY_TURNED || step == DELIVERY_HEARD ||
	    step == DELIVERY_RESTED ||
	    (step == DELIVERY_YIELDED && d->rejected) ||
	    (step == DELIVERY_STOOD && d->outcome == MESSAGE_COUNT_);
	return waits ? d->rested : MESSAGE_STATE_IN_FLIGHT;
}

struct message_view *
delivery_view(const struct delivery *d, struct inquiry *inquiry)
{
	struct arena *arena = inquiry->arena;
	struct span source = span_str(d->source->source->name);
	struct message_view *view = arena_alloc(arena, sizeof *view);
	*view = (struct message_view){
	    .id = inquiry_id(arena, source, d->message->position),
	    .source = arena_dup(arena, source).ptr,
	    .position = arena_dup(arena, d->message->position),
	    .state = delivery_view_state(d),
	    .key_id =
		arena_dup(arena, span_str(attempt_key_hex(&d->a))).ptr,
	    .label = arena_dup(arena, attempt_label(&d->a)),
	    .attempt = attempt_number(&d->a),
	    .first_ms = d->first_ms,
	};
	const char *route = attempt_route(&d->a);
	if (route != NULL)
		view->route = arena_dup(arena, span_str(route)).ptr;
	if (view->state == MESSAGE_STATE_HELD && d->rejected)
		view->detail =
		    arena_dup(arena, span_str(d->finish.refused));
	if (view->state < MESSAGE_STATE_WAITING) {
		view->reason = d->why;
		view->next_ms = d->next_ms;
	}
	return view;
}

bool
delivery_view_drop(struct delivery *d, struct inquiry *inquiry)
{
	if (delivery_view_state(d) == MESSAGE_STATE_IN_FLIGHT)
		return false;
	op_cancel(&d->place.turn);
	source_standing_leave(d->source, &d->stand);
	op_cancel(&d->rest);
	delivery_unshape(d);
	source_credit_rest(d->source, d, false);
	/*
	 * Its broker may not have taken the end of what is a letter already, or
	 * not that of whoever had it before.
	 */
	d->was_letter |= d->buried || delivery_may_have_letter(d);
	d->held = d->buried = false;
	d->outcome = MESSAGE_DROPPED;
	d->dropped = inquiry;
	machine_to(&d->machine, DELIVERY_FINISH);
	machine_run(&d->machine);
	return true;
}

void
delivery_view_over(struct delivery *d)
{
	struct inquiry *inquiry = d->dropped;
	if (inquiry == NULL)
		return;
	d->dropped = NULL;
	inquiry->done = d->machine.step == DELIVERY_END;
	inquiry_go_on(inquiry);
}
