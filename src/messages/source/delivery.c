/* SPDX-License-Identifier: BSD-2-Clause */
#include "messages/source/delivery_private.h"
#include "messages/source/source_credit.h"
#include "messages/source/source_standing.h"
#include "store/claim.h"

/*
 * The way of a message:
 *
 *   SHAPE TURN ⇢ TURNED STAND ⇢ STOOD CLAIM ⇢ CLAIMED START ⇢ JOINED
 *     its lane is parked: SEEK ⇢ SOUGHT FOLLOW ⇢ FOLLOWED . BURY
 *       its record is COMPLETED ........................... FINISH
 *     its record is COMPLETED ............................. FINISH
 *     somebody is at it: WAIT ⇢ HEARD ..................... SHAPE again
 *     nobody knows: HOLD ⇢ HEARD .......................... SHAPE again
 *       for how long already: NOTE ⇢ NOTED ................ KEEP
 *       and its record is gone: MISS ...................... HOLD
 *     it came before, and has no record: RECALL ⇢ RECALLED  CLAIM
 *       it was held ....................................... MISS
 *     released, not sent: BACK_OFF or UNSENT ⇢ RESTED ..... SHAPE again
 *     it can never be executed: BURY PARK ⇢ PARKED ........ FINISH
 *     a dead letter's record is FAILED: RELEASE ⇢ RELEASED  SHAPE again
 *     it is to be dropped: CHECK ⇢ CHECKED ............... FINISH
 *     it is tried again: CONFIRM ⇢ CONFIRMED ............. SHAPE
 *     it is behind another one: PROVE ⇢ PROVED
 *       and that is nowhere any more: SKIP ⇢ SKIPPED ...... FOLLOW again
 *     the first of a parked lane is done with: DECIDE ⇢ DECIDED ... FINISH
 *   FINISH ⇢ FINISHED END       (through STAND while its source stands still)
 *     somebody has locked it: YIELD ⇢ YIELDED ............. FINISH again
 *   and where its bytes were given back meanwhile:
 *   HEARD PEEK ⇢ PEEKED ................................... HOLD again
 *   SHAPE FETCH ⇢ FETCHED ................................. SHAPE
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

/* For people, who look for it by that. */
static void
keep_label(struct delivery *d)
{
	if (d->c.label.len > 0 && !span_eq(d->label, d->c.label))
		d->label = arena_dup(d->message->arena, d->c.label);
}

static void
keep_route(struct delivery *d)
{
	const struct conf_route *route = d->c.route;
	if (route != NULL &&
	    (d->route == NULL || strcmp(d->route, route->name) != 0))
		d->route =
		    arena_dup(d->message->arena, span_str(route->name)).ptr;
}

void
delivery_forget_request(struct delivery *d)
{
	body_clear(&d->body);
	if (d->c.arena == NULL)
		return;
	keep_route(d);
	keep_label(d);
	if (d->c.key_hex[0] != '\0')
		memcpy(d->key_hex, d->c.key_hex, sizeof d->key_hex);
	if (d->c.attempt > 0)
		d->attempt = d->c.attempt;
	struct arena *arena = d->c.arena;
	claimant_clear(&d->c);
	d->c = (struct claimant){.arena = NULL};
	arena_free(&arena);
}

void
delivery_unshape(struct delivery *d)
{
	key_waiters_leave(&d->waiter);
	d->busy = d->whole = d->known = d->there = d->let = false;
	d->confirmed = false;
	delivery_forget_request(d);
}

/* Whoever asked hears that it was given up. */
static void
let_go_of_asker(struct delivery *d)
{
	struct inquiry *asked = d->asked;
	d->asked = NULL;
	if (asked != NULL)
		inquiry_go_on(asked);
}

/* Its claim became ours in the turn in which it ends: nobody begins it. */
static void
give_claim_back(struct delivery *d)
{
	const struct store_op *op = &d->c.claim_op;
	if (d->machine.step == DELIVERY_CLAIMED && op->op.state == OP_DONE &&
	    op->op.error == 0 &&
	    (op->verdict == VERDICT_OURS || op->verdict == VERDICT_RECONCILE))
		claim_undo(d->source->worker->store, &d->c.claim);
}

/* --- what was given back, and comes again --- */

enum { SENT_MOST = 1 << 16 };

static struct key_id
name_of(const struct delivery *d)
{
	struct digest digest;
	struct key_id name;
	digest_begin(&digest, SPAN("sent"), SPAN(""));
	digest_part(&digest, d->message->position);
	digest_end(&digest, name.bytes);
	return name;
}

/*
 * Its record may be gone when it comes again: with its record Redis may have
 * lost whose turn it was, too.
 */
static void
remember(const struct delivery *d)
{
	struct key_set *all = &d->source->sent;
	if (!d->sent || d->machine.step == DELIVERY_END ||
	    delivery_is_letter(d))
		return;
	const struct key_id name = name_of(d);
	if (all->count == SENT_MOST)
		key_set_clear(all);
	key_set_add(all, &name);
}

static bool
is_remembered(const struct delivery *d)
{
	if (d->source->sent.count == 0)
		return false;
	const struct key_id name = name_of(d);
	return key_set_has(&d->source->sent, &name);
}

static void
delivery_free(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	struct source *source = d->source;
	remember(d);
	give_claim_back(d);
	delivery_view_over(d);
	delivery_unshape(d);
	op_cancel(&d->gate);
	op_cancel(&d->rest);
	op_cancel(&d->park.op.op);
	op_cancel(&d->hold.op.op);
	op_cancel(&d->finish.op);
	op_cancel(&d->release.op.op);
	delivery_first_end(d);
	let_go_of_asker(d);
	if (d->probe)
		source_standing_try_another(source);
	delivery_probed(d);
	delivery_memory_end(d);
	arena_free(&d->put_arena);
	source->rejected -= d->rejected;
	source_credit_end(source, d);
	/* The delivery itself lies in its arena. */
	struct broker_message *message = d->message;
	broker_message_free(&message);
}

static const struct machine_kind delivery_kind = {
    "delivery", steps, awaited, delivery_free};

static struct delivery *
make(struct source *source, struct broker_message *message)
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
	body_init(&d->body, w->budget);
	op_init(&d->place.turn, w->loop, machine_run, &d->machine);
	op_init(&d->waiter.op, w->loop, machine_run, &d->machine);
	op_init(&d->gate, w->loop, machine_run, &d->machine);
	op_init(&d->rest, w->loop, machine_run, &d->machine);
	op_init(&d->park.op.op, w->loop, machine_run, &d->machine);
	d->park.arena = message->arena;
	op_init(&d->hold.op.op, w->loop, machine_run, &d->machine);
	op_init(&d->finish.op, w->loop, machine_run, &d->machine);
	op_init(&d->again.op, w->loop, machine_run, &d->machine);
	op_init(&d->record.op.op, w->loop, machine_run, &d->machine);
	op_init(&d->release.op.op, w->loop, machine_run, &d->machine);
	d->release.arena = message->arena;
	/* It is here: credit was given for it while there was room. */
	must(budget_take(w->budget, message->bytes, BUDGET_GRANTED));
	return d;
}

void
delivery_new(struct source *source, struct broker_message *message)
{
	struct delivery *d = make(source, message);
	d->sent = is_remembered(d);
	machine_run(&d->machine);
}

void
delivery_new_letter(struct source *source, struct broker_message *message,
    const struct delivery_letter *letter)
{
	source->in_flight++;
	source->taken++;
	source_credit_settle(source);
	struct delivery *d = make(source, message);
	letter_read(message, &d->letter);
	letter_strip(message);
	d->drop = letter->drop;
	d->confirmed = true;
	if (letter->lane != NULL)
		d->lane = *letter->lane;
	if (letter->drop)
		d->dropped = letter->asked;
	else
		d->asked = letter->asked;
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
	d->detail = arena_dup(d->message->arena, detail);
}

bool
delivery_stands(struct machine *machine, bool *ret_to_finish)
{
	const struct delivery *d = delivery_of(machine);
	*ret_to_finish = d->outcome != MESSAGE_COUNT_;
	return machine->step == DELIVERY_STOOD;
}

bool
delivery_is_finishing(const struct machine *machine)
{
	return machine->step == DELIVERY_FINISHED;
}

void
delivery_probed(struct delivery *d)
{
	if (d->probe)
		d->source->probing--;
	d->probe = false;
}

void
delivery_let_go(struct delivery *d, bool probe)
{
	if (probe && !d->probe)
		d->source->probing++;
	d->probe |= probe;
	if (op_pending(&d->gate))
		op_done(&d->gate, 0);
}
