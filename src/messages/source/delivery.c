/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/test_build.h"
#include "messages/source/delivery_private.h"
#include "messages/source/shape.h"
#include "messages/source/source_credit.h"
#include "messages/source/source_proof.h"
#include "messages/source/source_standing.h"
#include "store/claim.h"

/*
 * The way of a message:
 *
 *   SHAPE TURN ⇢ TURNED STAND CLAIM ⇢ CLAIMED EXECUTE ⇢ EXECUTED
 *     its source stands still: STAND ⇢ RESTED ............. STAND again
 *     its record is COMPLETED ............................. FINISH
 *     somebody is at it: WAIT ⇢ RESTED .................... SHAPE again
 *     nobody knows: HOLD ⇢ RESTED ......................... SHAPE again
 *       and its record is gone: MISS ...................... CLAIM
 *     released, not sent: BACK_OFF or UNSENT ⇢ RESTED ..... SHAPE again
 *     it can never be executed: BURY ⇢ BURIED ............. FINISH
 *     its lane is parked: CLAIM ⇢ CLAIMED BURY ⇢ BURIED ... FINISH
 *     it has a letter, perhaps: SEEK ⇢ SOUGHT ............. FINISH, or TURN
 *       that is of another: CONFIRM ⇢ CONFIRMED ........... SEEK again
 *   FINISH ⇢ FINISHED END       (through STAND while its source stands still)
 *     somebody has locked it: YIELD ⇢ RESTED .............. FINISH again
 *     it is a letter: CONFIRM ⇢ CONFIRMED ................. END
 *
 * and of a letter:
 *
 *   BEGIN ⇢ BEGUN SHAPE STAND CLAIM ... as a message, but
 *     its record is FAILED: RELEASE ⇢ RELEASED ............ SHAPE again
 *     it cannot be executed: STAY ⇢ STAYED
 *   FINISH ⇢ FINISHED CLOSE ⇢ CLOSED END (the next of its lane BEGINs)
 *     it is only to be acknowledged: BEGUN FINISH ⇢ FINISHED CONFIRM
 */

static const struct machine_step steps[] = {
#define DELIVERY_STEP(name, function, operation)                              \
	{#name, function, sizeof #operation != sizeof "NULL"},
#include "tbl/steps.h"
};

struct delivery *
delivery_of(struct machine *machine)
{
	return CONTAINER_OF(machine, struct delivery, machine);
}

static struct op *
awaited(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	switch (machine->step) {
#define DELIVERY_STEP(name, function, operation)                              \
	case DELIVERY_##name:                                                  \
		return operation;
#include "tbl/steps.h"
	}
	return NULL;
}

/* --- its life --- */

enum { SENT_MOST = 1 << 16 };

/* Of what was given back, and may have been executed. */
static struct key_id
name_of(const struct delivery *d)
{
	struct span table = span_str(d->source->source->table), schema;
	struct digest digest;
	struct key_id name;
	digest_begin(&digest, SPAN("sent"), SPAN(""));
	/*
	 * A reload may name another stream or table, which has the same ids, or
	 * spell this one's name in another way.
	 */
	span_cut(&table, '.', &schema);
	digest_part(&digest, span_str(d->source->source->stream));
	digest_part(&digest, table);
	digest_part(&digest, d->message->position);
	digest_end(&digest, name.bytes);
	return name;
}

static void
delivery_free(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	struct source *source = d->source;
	struct key_set *sent = &source->meter->sent;
	/*
	 * Its record may be gone when it comes again: with its record Redis may
	 * have lost who had the leadership, too.
	 */
	if (d->sent > 0 && d->replay == NULL &&
	    machine->step != DELIVERY_END) {
		const struct key_id name = name_of(d);
		if (sent->members.count == SENT_MOST)
			key_set_clear(sent);
		key_set_add(sent, &name);
	}
	delivery_view_over(d);
	op_cancel(&d->written.op.op);
	op_cancel(&d->finish.op);
	source_standing_leave(source, &d->stand);
	/* What has just been claimed is given back: nobody begins it. */
	const struct store_op *op = &d->c.claim_op;
	if (machine->step == DELIVERY_CLAIMED && op->op.state == OP_DONE &&
	    op->op.error == 0 &&
	    (op->verdict == VERDICT_OURS || op->verdict == VERDICT_RECONCILE))
		claim_undo(source->worker->store, &d->c.claim);
	delivery_unshape(d);
	budget_give(source->worker->budget, d->charged);
	source->bytes -= d->charged;
	arena_free(&d->put_arena);
	source->rejected -= d->rejected;
	source->burying -= d->burying;
	if (d->replay != NULL) {
		timer_clear(&d->replay->renew);
		op_cancel(&d->replay->renewal.op.op);
		op_cancel(&d->replay->record.op.op);
	}
	source_credit_end(source, d);
	/* The delivery itself lies in it. */
	struct arena *arena = d->arena;
	arena_free(&arena);
}

static const struct machine_kind delivery_kind = {
    "delivery", steps, awaited, delivery_free, false};

struct delivery *
delivery_make(
    struct source *source, struct machines *all, struct arena *arena)
{
	struct loop *loop = source->worker->loop;
	struct delivery *d = arena_alloc(arena, sizeof *d);
	machine_init(&d->machine, &delivery_kind, all);
	d->source = source;
	d->arena = d->written.arena = arena;
	d->began_us = clock_us();
	d->first_ms = clock_wall_ms();
	d->rested = MESSAGE_STATE_WAITING;
	d->outcome = d->reason = MESSAGE_COUNT_;
	/* None yet, and none of others was executed since. */
	d->refusals = (struct source_refusals){
	    .run = UINT64_MAX, .attempted = source->executed};
	op_init(&d->place.turn, loop, machine_run, &d->machine);
	d->stand.op = &d->waiter.op;
	op_init(&d->waiter.op, loop, machine_run, &d->machine);
	op_init(&d->written.op.op, loop, machine_run, &d->machine);
	op_init(&d->finish.op, loop, machine_run, &d->machine);
	return d;
}

void
delivery_new(struct source *source, struct broker_message *message)
{
	struct delivery *d =
	    delivery_make(source, &source->deliveries, message->arena);
	machine_name(&d->machine, message->position);
	d->message = message;
	d->number = source->taken;
	d->charged = 2 * message->bytes; /* source_credit_take */
	d->again_us = message->again ? d->began_us : 0;
	if (source->meter->sent.members.count > 0) {
		const struct key_id name = name_of(d);
		d->sent = key_set_has(&source->meter->sent, &name) ? 1 : 0;
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
	struct arena *arena = d->c.arena;
	key_waiters_leave(&d->waiter);
	d->there = d->busy = d->whole = false;
	body_clear(&d->body);
	if (arena == NULL)
		return;
	claimant_clear(&d->c);
	d->c = (struct claimant){.arena = NULL};
	arena_free(&arena);
}

void
delivery_note(struct delivery *d)
{
	const struct claimant *c = &d->c;
	if (c->route != NULL &&
	    (d->route == NULL || strcmp(c->route->name, d->route) != 0))
		d->route = arena_dup(d->arena, span_str(c->route->name)).ptr;
	if (c->label.len > 0 && !span_eq(c->label, d->label))
		d->label = arena_dup(d->arena, c->label);
	if (c->key_hex[0] != '\0')
		memcpy(d->key_hex, c->key_hex, sizeof d->key_hex);
	if (c->attempt > 0)
		d->attempt = c->attempt;
}

int
delivery_status(const struct delivery *d)
{
	/* A record that is FAILED has no answer: its attempts were released. */
	if (d->buried && d->reason == MESSAGE_EXHAUSTED)
		return d->met;
	if (d->c.arena == NULL)
		return 0;
	return d->c.answer != NULL ? d->c.answer->status
				   : d->c.original_status;
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
	d->detail = arena_dup(d->arena, detail);
}

bool
delivery_is_finishing(const struct machine *machine)
{
	return machine->step == DELIVERY_FINISHED;
}

bool
delivery_is_ending(const struct machine *machine)
{
	return delivery_is_finishing(machine) ||
	    machine->step == DELIVERY_CONFIRMED ||
	    machine->step == DELIVERY_CLOSED;
}

/* --- a request is made, anew for each try --- */

/* Its place in its lane, before anything else is known of it. */
static void
take_place(struct delivery *d)
{
	static const char what[] = "it has nothing to be ordered by";
	const struct conf_source *conf = d->source->source;
	const struct span body = body_span(&d->body);
	const struct content content = content_of(body);
	struct span why;
	d->placed = true;
	if (conf->order_by == SOURCE_ORDER_NONE)
		return;
	if (shape_order(conf, d->message, body, d->lane.bytes)) {
		source_credit_place(d->source, d);
		return;
	}
	if (d->buried)
		return;
	if (conf->order_by == SOURCE_ORDER_POINTERS)
		why = key_members_wrong(
		    d->arena, what, &conf->order_pointers, &content);
	else if (conf->order_by == SOURCE_ORDER_HEADER)
		why = arena_printf(d->arena, "%s, because it has no field "
		    "\"%s\"", what, conf->order_header);
	else
		why = arena_printf(d->arena, "%s, because it has no %s", what,
		    conf->order_by == SOURCE_ORDER_KEY ? "key" : "entity");
	delivery_condemn(d, MESSAGE_MALFORMED, why);
}

/* A tombstone of Kafka, or a row whose payload is NULL. */
static bool
has_no_value(const struct delivery *d)
{
	return !d->message->has_payload &&
	    d->source->source->broker->kind != BROKER_STREAMS;
}

/* The body of its request, unless nothing can be made of it. */
static void
make_body(struct delivery *d)
{
	const struct broker_message *m = d->message;
	const struct conf_source *conf = d->source->source;
	if (m->too_large)
		delivery_condemn(d, MESSAGE_TOO_LARGE,
		    d->replay != NULL ? SPAN("not-kept") : SPAN(""));
	else if (m->odd != NULL)
		delivery_condemn(d, MESSAGE_MALFORMED, span_str(m->odd));
	else if (has_no_value(d) && conf->nulls == NULLS_DEAD_LETTER)
		delivery_condemn(
		    d, MESSAGE_MALFORMED, SPAN("it has no value"));
	else if (!has_no_value(d) &&
	    shape_body(conf, m, &d->body, &d->detail) != SHAPE_GOOD)
		delivery_condemn(d, MESSAGE_MALFORMED, d->detail);
}

/* Its request, where it has all that makes one. */
static enum shape_verdict
make_request(struct delivery *d)
{
	const struct conf_source *conf = d->source->source;
	struct claimant *c = &d->c;
	struct span detail = SPAN("");
	claimant_init(c, d->source->worker, arena_new(), &d->machine);
	/* Nobody but its record knows how often it was tried. */
	c->counts = COUNTS_ALWAYS;
	enum shape_verdict verdict =
	    shape_request(conf, d->message, c, &d->body, &detail);
	delivery_note(d);
	/* All fields as JSON may be more than they are, as is what decodes. */
	size_t bytes = d->message->bytes + d->body.len + c->decoded.len;
	if (bytes > d->charged) {
		must(source_credit_charge(
		    d->source, bytes - d->charged, BUDGET_GRANTED));
		d->charged = bytes;
	}
	/* It outlives the request. */
	d->detail =
	    detail.len > 0 ? arena_dup(d->arena, detail) : SPAN("");
	/* The route does take the source's own token. */
	if (d->source->token_refused && verdict == SHAPE_GOOD &&
	    shape_own_scope(conf, c) > 0) {
		d->source->token_refused = false;
		if (d->source->api_standing != STANDING_TOKEN)
			source_standing_end(d->source, STANDING_TOKEN);
	}
	return verdict;
}

/* Nothing is in its way but what is in that of all. */
static enum after
begin(struct delivery *d)
{
	if (d->buried)
		return delivery_to(d,
		    d->replay != NULL ? DELIVERY_STAY : DELIVERY_BURY, MORE);
	if (!has_no_value(d) || d->source->source->nulls != NULLS_ACK)
		return delivery_to(d, DELIVERY_STAND, MORE);
	d->outcome = MESSAGE_MALFORMED;
	return delivery_to(d, DELIVERY_FINISH, MORE);
}

enum after
delivery_shape(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const struct broker_message *m = d->message;
	size_t bytes = 2 * m->bytes;
	d->known_us = clock_us();
	/* A letter's was not taken; there may be no memory for it now. */
	if (d->charged == 0) {
		/* One need not wait: room may come by its own end alone. */
		bool oldest = machine == LIST_LAST(
		    &d->source->replays.list, struct machine, item);
		if (!source_credit_charge(d->source, bytes,
			oldest ? BUDGET_GRANTED : BUDGET_TURN))
			return delivery_to(d, DELIVERY_LOOK, MORE);
		d->charged = bytes;
	}
	/* One that was condemned before comes here once more for its body. */
	d->outcome = d->buried ? d->reason : MESSAGE_COUNT_;
	make_body(d);
	if (!d->placed)
		take_place(d);
	enum shape_verdict verdict = d->buried ? SHAPE_GOOD : make_request(d);
	/* Before it is renewed none is executed, and none becomes a letter. */
	if (verdict == SHAPE_OWN_SCOPE && d->replay == NULL) {
		d->source->token_refused = true;
		source_standing_begin(
		    d->source, STANDING_TOKEN, d->detail.ptr);
		source_standing_tried(d->source, &d->stand);
		delivery_unshape(d);
		return delivery_to(d, DELIVERY_STAND, MORE);
	}
	if (verdict == SHAPE_OWN_SCOPE || verdict == SHAPE_UNVERIFIED)
		return delivery_to(d, DELIVERY_LOOK, MORE);
	if (verdict != SHAPE_GOOD)
		delivery_condemn(d,
		    verdict == SHAPE_KEY_MISSING ? MESSAGE_KEY_MISSING
			: verdict == SHAPE_TOO_LARGE ? MESSAGE_TOO_LARGE
						     : MESSAGE_MALFORMED,
		    d->detail);
	if (d->replay != NULL)
		return begin(d);
	/*
	 * Older than max_age when it was taken, as far as its age is known;
	 * whether that was the first time its record says.
	 */
	int64_t most_ms = d->source->source->max_age_ms;
	d->old = most_ms > 0 && d->tries == 0 && m->time_ms >= 0 &&
	    d->first_ms - m->time_ms > most_ms;
	return delivery_to(d, DELIVERY_TURN, MORE);
}

/* --- its turn in its lane: one of an order at a time, as they came --- */

/* Its lane, where a letter parks what comes behind it; else NULL. */
static const struct letters_lane *
lane_of(const struct delivery *d)
{
	return d->place.lane != NULL && !d->source->source->behind_go_on
	    ? &d->lane
	    : NULL;
}

struct letter_name
delivery_letter_name(const struct delivery *d)
{
	return d->replay != NULL
	    ? d->replay->name
	    : letter_stored_name(d->message->position, lane_of(d));
}

/* Others may have begun to make a letter of it, and were cut short. */
static bool
may_have_letter(const struct delivery *d)
{
	return !d->sought &&
	    ((d->message->again &&
		 !source_standing_has_one_reader(d->source)) ||
		letters_may_be_written(
		    &d->source->letters, d->message->position));
}

/* It is the first of its lane. */
static enum after
take_turn(struct delivery *d)
{
	const struct letters *letters = &d->source->letters;
	/*
	 * What was sent is not executed without its record anyway, unless it
	 * would be executed again where nobody knows.
	 */
	const struct conf_idempotency *policy = d->c.policy;
	bool retries = policy != NULL && policy->on_unknown == UNKNOWN_RETRY;
	int64_t again_us = d->sent == 0 || retries ? d->again_us : 0;
	if (letters->n_unknown > 0)
		return delivery_to(d, DELIVERY_LOOK, MORE);
	d->proves = source_proof_doubts(d->source, again_us);
	if (d->proves)
		return delivery_to(d, DELIVERY_LOOK, MORE);
	if (may_have_letter(d))
		return delivery_to(d, DELIVERY_SEEK, MORE);
	d->parks = lane_of(d) != NULL &&
	    letters_have_lane(letters, &d->lane) && INVARIANT(behind_a_letter);
	if (d->parks && !d->buried)
		return delivery_to(d, DELIVERY_CLAIM, MORE);
	if (d->parks)
		delivery_condemn(d, MESSAGE_BEHIND, SPAN(""));
	return begin(d);
}

/* It has waited for its turn: what the store had before proves nothing. */
enum after
delivery_turned(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	if (d->again_us != 0)
		d->again_us = clock_us();
	return take_turn(d);
}

enum after
delivery_turn(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	if (lanes_is_first(&d->place) || !INVARIANT(one_of_an_order))
		return take_turn(d);
	op_start(&d->place.turn, 0, NULL);
	return delivery_to(d, DELIVERY_TURNED, WAIT);
}

/* --- what operators see of it, and tell it --- */

/* A message that rests keeps its state while its source stands still. */
enum message_state
delivery_view_state(const struct delivery *d)
{
	unsigned step = d->machine.step;
	/* Not of those that were done but for their ends. */
	bool waits = step == DELIVERY_TURNED ||
	    (step == DELIVERY_RESTED &&
		(d->next == DELIVERY_SHAPE || d->rejected ||
		    d->outcome == MESSAGE_COUNT_));
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
	    .key_id = arena_dup(arena, span_str(d->key_hex)).ptr,
	    .label = arena_dup(arena, d->label),
	    .attempt = d->attempt,
	    .first_ms = d->first_ms,
	};
	if (d->route != NULL)
		view->route = arena_dup(arena, span_str(d->route)).ptr;
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
	delivery_unshape(d);
	source_credit_rest(d->source, d, false);
	/*
	 * Its broker may not have taken the end of what is a letter already, or
	 * not that of whoever had it before.
	 */
	d->was_letter |= d->buried || may_have_letter(d);
	d->buried = false;
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
