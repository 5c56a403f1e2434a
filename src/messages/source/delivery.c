/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "base/test_build.h"
#include "messages/source/delivery_private.h"
#include "messages/source/source_credit.h"
#include "messages/source/source_proof.h"
#include "messages/source/source_standing.h"

/*
 * The way of a message:
 *
 *   SHAPE TURN ⇢ TURNED STAND ⇢ STOOD CLAIM ⇢ CLAIMED EXECUTE ⇢ EXECUTED
 *     its record is COMPLETED ............................. FINISH
 *     somebody is at it: WAIT ⇢ HEARD ..................... SHAPE again
 *     nobody knows: HOLD ⇢ HEARD .......................... SHAPE again
 *       and its record is gone: MISS ...................... CLAIM
 *     released, not sent: BACK_OFF or UNSENT ⇢ RESTED ..... SHAPE again
 *     it can never be executed: BURY ⇢ BURIED ............. FINISH
 *     its lane is parked: CLAIM ⇢ CLAIMED BURY ⇢ BURIED ... FINISH
 *     it has a letter, perhaps: SEEK ⇢ SOUGHT ............. FINISH
 *   FINISH ⇢ FINISHED END       (through STAND while its source stands still)
 *     somebody has locked it: YIELD ⇢ YIELDED ............. FINISH again
 *     it is a letter: CONFIRM ⇢ CONFIRMED ................. END
 */

static const struct machine_step steps[] = {
#define DELIVERY_STEP(name, function, operation) {#name, function},
#include "tbl/steps.h"
};

struct delivery *
delivery_of(struct machine *machine)
{
	return CONTAINER_OF(machine, struct delivery, machine);
}

static const struct op *
awaited(struct machine *machine)
{
	const struct delivery *d = delivery_of(machine);
	switch ((enum delivery_step)machine->step) {
#define DELIVERY_STEP(name, function, operation)                              \
	case DELIVERY_##name:                                                  \
		return operation;
#include "tbl/steps.h"
	case DELIVERY_STEPS_:
		break;
	}
	must(false);
	return NULL;
}

/* --- its life --- */

enum { SENT_MOST = 1 << 16 };

/* Of what was given back, and may have been executed. */
static struct key_id
name_of(const struct delivery *d)
{
	struct digest digest;
	struct key_id name;
	digest_begin(&digest, SPAN("sent"), SPAN(""));
	/* A reload may name another stream, which has the same ids. */
	digest_part(&digest, span_str(d->source->source->stream));
	digest_part(&digest, span_str(d->source->source->table));
	digest_part(&digest, d->message->position);
	digest_end(&digest, name.bytes);
	return name;
}

/*
 * Its record may be gone when it comes again: with its record Redis may have
 * lost who had the leadership, too.
 */
static void
remember(const struct delivery *d)
{
	struct key_set *all = &d->source->meter->sent;
	if (!d->a.sent || d->machine.step == DELIVERY_END)
		return;
	const struct key_id name = name_of(d);
	if (all->count == SENT_MOST)
		key_set_clear(all);
	key_set_add(all, &name);
}

static void
delivery_free(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	struct source *source = d->source;
	remember(d);
	delivery_view_over(d);
	op_cancel(&d->rest);
	op_cancel(&d->written.op.op);
	op_cancel(&d->finish.op);
	source_standing_leave(source, &d->stand);
	attempt_end(&d->a, d->machine.step == DELIVERY_CLAIMED);
	arena_free(&d->put_arena);
	source->rejected -= d->rejected;
	source->burying -= d->burying;
	source_credit_end(source, d);
	/* The delivery itself lies in its arena. */
	struct broker_message *message = d->message;
	broker_message_free(&message);
}

static const struct machine_kind delivery_kind = {
    "delivery", steps, awaited, delivery_free};

void
delivery_new(struct source *source, struct broker_message *message)
{
	struct worker *w = source->worker;
	struct delivery *d = arena_alloc(message->arena, sizeof *d);
	machine_init(&d->machine, &delivery_kind, &source->deliveries);
	machine_name(&d->machine, message->position);
	d->source = source;
	d->message = message;
	d->number = source->taken;
	d->began_us = clock_us();
	d->first_ms = clock_wall_ms();
	d->rested = MESSAGE_STATE_WAITING;
	attempt_init(&d->a, source, message, &d->machine);
	op_init(&d->place.turn, w->loop, machine_run, &d->machine);
	op_init(&d->stand.op, w->loop, machine_run, &d->machine);
	op_init(&d->rest, w->loop, machine_run, &d->machine);
	op_init(&d->written.op.op, w->loop, machine_run, &d->machine);
	d->written.arena = message->arena;
	op_init(&d->finish.op, w->loop, machine_run, &d->machine);
	d->a.charged = 2 * message->bytes; /* source_credit_take */
	if (source->meter->sent.count > 0) {
		const struct key_id name = name_of(d);
		d->a.sent = key_set_has(&source->meter->sent, &name);
	}
	machine_run(&d->machine);
}

struct delivery *
delivery_find(const struct source *source, struct span position)
{
	struct machine *m;
	LIST_EACH(m, &source->deliveries.list, item)
		if (span_eq(delivery_of(m)->message->position, position))
			return delivery_of(m);
	return NULL;
}

void
delivery_unshape(struct delivery *d)
{
	attempt_clear(&d->a);
	d->there = false;
}

void
delivery_count(struct delivery *d, enum message_outcome outcome)
{
	counter_add(&d->source->meter->outcomes[outcome], 1);
}

void
delivery_condemn(struct delivery *d, enum message_outcome reason,
    struct span detail)
{
	d->buried = true;
	d->outcome = d->reason = reason;
	d->a.detail = arena_dup(d->message->arena, detail);
}

bool
delivery_is_finishing(const struct machine *machine)
{
	return machine->step == DELIVERY_FINISHED;
}

void
delivery_probed(struct delivery *d)
{
	source_standing_tried(d->source, &d->stand);
}

/* --- a request is made, anew for each try --- */

/*
 * Older than max_age when it was taken, as far as its age is known; whether
 * that was the first time its record says.
 */
static bool
is_expired(const struct delivery *d)
{
	int64_t most_ms = d->source->source->max_age_ms;
	return most_ms > 0 && d->tries == 0 && d->message->time_ms >= 0 &&
	    d->first_ms - d->message->time_ms > most_ms;
}

static struct span
why_unordered(const struct delivery *d)
{
	static const char purpose[] = "nothing to be ordered by";
	const struct conf_source *source = d->source->source;
	struct arena *arena = d->message->arena;
	if (source->order_by == SOURCE_ORDER_POINTERS)
		return shape_lacks(arena, &source->order_pointers,
		    body_span(&d->a.body), purpose);
	if (source->order_by == SOURCE_ORDER_HEADER)
		return arena_printf(arena,
		    "it has no field \"%s\", so it has %s",
		    source->order_header, purpose);
	return arena_printf(arena, "it has no %s, so it has %s",
	    source->order_by == SOURCE_ORDER_KEY ? "key" : "entity", purpose);
}

/* Its place in its lane, before anything else is known of it. */
static void
take_place(struct delivery *d)
{
	const struct conf_source *conf = d->source->source;
	d->placed = true;
	if (conf->order_by == SOURCE_ORDER_NONE)
		return;
	if (shape_order(
		conf, d->message, body_span(&d->a.body), d->lane.bytes)) {
		lanes_enter(d->source->lanes, d->lane.bytes, &d->place);
		source_credit_place(d->source, d);
	} else if (!d->buried) {
		delivery_condemn(d, MESSAGE_MALFORMED, why_unordered(d));
	}
}

/* None can be executed before it is renewed, and none becomes a letter. */
static enum after
stand_for_token(struct delivery *d)
{
	char *words = mem_str(d->a.detail);
	d->source->token_refused = true;
	source_standing_begin(d->source, STANDING_TOKEN, words);
	free(words);
	delivery_probed(d);
	delivery_unshape(d);
	return delivery_to(d, DELIVERY_STAND, MORE);
}

/* Its request, where it has all that makes one. */
static enum shape_verdict
make_request(struct delivery *d)
{
	enum shape_verdict verdict = attempt_make_request(&d->a);
	if (verdict == SHAPE_GOOD &&
	    shape_has_own_scope(d->source->source, &d->a.c))
		source_standing_token_taken(d->source);
	return verdict;
}

enum after
delivery_shape(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const struct broker_message *m = d->message;
	enum shape_verdict verdict = SHAPE_GOOD;
	/* One that was condemned before comes here once more for its body. */
	d->outcome = d->buried ? d->reason : MESSAGE_COUNT_;
	if (m->too_large)
		delivery_condemn(d, MESSAGE_TOO_LARGE, SPAN(""));
	else if (m->odd != NULL)
		delivery_condemn(d, MESSAGE_MALFORMED, span_str(m->odd));
	else
		verdict = attempt_make_body(&d->a);
	if (verdict != SHAPE_GOOD)
		delivery_condemn(
		    d, attempt_misshapen(verdict), d->a.detail);
	if (!d->placed)
		take_place(d);
	d->old = is_expired(d);
	if (!d->buried) {
		verdict = make_request(d);
		if (verdict == SHAPE_OWN_SCOPE)
			return stand_for_token(d);
		if (verdict != SHAPE_GOOD)
			delivery_condemn(
			    d, attempt_misshapen(verdict), d->a.detail);
	}
	return delivery_to(d, DELIVERY_TURN, MORE);
}

/* --- its turn in its lane: one of an order at a time, as they came --- */

const struct letters_lane *
delivery_lane(const struct delivery *d)
{
	return d->place.lane != NULL && !d->source->source->behind_go_on
	    ? &d->lane
	    : NULL;
}

/* Others may have begun to make a letter of it, and were cut short. */
bool
delivery_may_have_letter(const struct delivery *d)
{
	return !d->sought &&
	    ((d->message->again &&
		 !source_standing_has_one_reader(d->source)) ||
		letters_may_be_written(
		    &d->source->letters, d->message->position));
}

/* It is the first of its lane. */
static enum after
go(struct delivery *d)
{
	const struct letters *letters = &d->source->letters;
	if (!letters_are_known(letters)) {
		delivery_unshape(d);
		return delivery_to(d, DELIVERY_LOOK, MORE);
	}
	/* What was sent here is not executed without its record anyway. */
	if (source_proof_doubts(d->source,
		d->message->again && !d->a.sent ? d->began_us : 0)) {
		delivery_unshape(d);
		return delivery_to(d, DELIVERY_LOOK, MORE);
	}
	if (delivery_may_have_letter(d))
		return delivery_to(d, DELIVERY_SEEK, MORE);
	d->parks = delivery_lane(d) != NULL &&
	    letters_have_lane(letters, &d->lane) && INVARIANT(behind_a_letter);
	if (d->parks && !d->buried)
		return delivery_to(d, DELIVERY_CLAIM, MORE);
	if (d->parks)
		delivery_condemn(d, MESSAGE_BEHIND, SPAN(""));
	if (d->buried)
		return delivery_to(d, DELIVERY_BURY, MORE);
	if (attempt_has_no_value(&d->a) &&
	    d->source->source->nulls == NULLS_ACK) {
		d->outcome = MESSAGE_MALFORMED;
		return delivery_to(d, DELIVERY_FINISH, MORE);
	}
	return delivery_to(d, DELIVERY_STAND, MORE);
}

enum after
delivery_turn(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	if (lanes_is_first(&d->place) || !INVARIANT(one_of_an_order))
		return go(d);
	lanes_wait(&d->place);
	return delivery_to(d, DELIVERY_TURNED, WAIT);
}

enum after
delivery_turned(struct machine *machine)
{
	return go(delivery_of(machine));
}

/* --- what operators see of it, and tell it --- */

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

void
delivery_count_states(
    const struct source *source, uint64_t ret_counts[MESSAGE_STATES_])
{
	struct machine *m;
	memset(ret_counts, 0, MESSAGE_STATES_ * sizeof *ret_counts);
	LIST_EACH(m, &source->deliveries.list, item)
		ret_counts[delivery_view_state(delivery_of(m))]++;
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
	    .key_id = arena_dup(arena, span_str(d->a.key_hex)).ptr,
	    .label = arena_dup(arena, d->a.label),
	    .attempt = d->a.number,
	    .first_ms = d->first_ms,
	};
	if (d->a.route != NULL)
		view->route = arena_dup(arena, span_str(d->a.route)).ptr;
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
