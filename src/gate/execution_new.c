/* SPDX-License-Identifier: BSD-2-Clause */
#include "gate/execution.h"
#include "gate/execution_private.h"
#include "gate/worker.h"

/*
 * The way of an execution:
 *
 *   (reconcile) ASK ⇢ ASKED ─┬─ it happened, and this is its answer: COMPLETE
 *                            ├─ it did not: RECLAIM ⇢ RECLAIMED ─── FORWARD
 *                            └─ no answer to go by: MARK_UNKNOWN
 *
 *   FORWARD ⇢ FORWARDED ─┬─ a whole answer, to be stored: COMPLETE ⇢
 *                        ├─ nothing sent, or it says so:  RELEASE ⇢
 *                        └─ sent, and no whole answer:    MARK_UNKNOWN ⇢
 *
 * COMPLETE ⇢ COMPLETED, RELEASE ⇢ RELEASED and MARK_UNKNOWN ⇢ MARKED_UNKNOWN
 * are in execution_store.c.  What Redis does not take goes to disk (JOURNAL ⇢
 * JOURNALED), and where that fails too, it is tried again after PAUSE ⇢ PAUSED,
 * until one of them has it; then FINISH.
 */

static const struct machine_step steps[] = {
#define EXECUTION_STEP(name, function, operation) {#name, function},
#include "tbl/steps.h"
};

static const struct op *
execution_awaited(struct machine *machine)
{
	const struct execution *e = execution_of(machine);
	switch ((enum execution_step)machine->step) {
#define EXECUTION_STEP(name, function, operation)                             \
	case EXECUTION_##name:                                                 \
		return operation;
#include "tbl/steps.h"
	case EXECUTION_STEPS_:
		break;
	}
	must(false);
	return NULL;
}

static void
execution_free(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	forward_stop(&e->forward);
	op_cancel(&e->store.op);
	op_cancel(&e->journal.op);
	op_cancel(&e->pause);
	forward_clear(&e->forward);
	answer_unref(&e->store.answer);
	answer_unref(&e->given);
	answer_unref(&e->answer);
	body_clear(&e->body);
	generation_unref(&e->generation);
	/* The execution itself lies in there. */
	struct arena *arena = e->arena;
	arena_free(&arena);
}

static const struct machine_kind execution_kind = {
    "execution", steps, execution_awaited, execution_free};

struct execution *
execution_new(const struct execution_start *start)
{
	struct execution *e = arena_alloc(start->arena, sizeof *e);
	struct worker *w = start->worker;
	machine_init(&e->machine, &execution_kind, &w->executions);
	hex_encode(start->claim.key_id.bytes, DIGEST_BYTES, e->machine.id);
	e->worker = w;
	e->generation = generation_ref(start->generation);
	e->route = start->route;
	e->arena = arena_ref(start->arena);
	e->claimant = start->claimant;
	e->held = (struct held){
	    .key_id = start->claim.key_id,
	    .owner = start->claim.owner,
	    .attempt = start->attempt,
	    .tries = start->tries,
	    .created_ms = start->created_ms,
	    .policy = start->claim.policy,
	    .provenance = start->claim.provenance,
	};
	memcpy(e->held.fingerprint, start->claim.fingerprint,
	    sizeof e->held.fingerprint);
	e->claim = start->claim;
	/* Whoever waits for the execution is given the whole answer. */
	e->claim.brief = false;
	if (start->claim.entity != NULL) {
		e->entity = *start->claim.entity;
		e->claim.entity = e->held.entity = &e->entity;
	}
	e->asked = start->ask;
	e->reason = start->reason;
	e->can_ask = start->can_ask;
	e->counts = start->counts;
	e->question = start->question;
	e->message = start->message;
	e->request_id = start->request_id;
	e->first_id = start->first_id.len > 0
	    ? arena_dup(e->arena, start->first_id)
	    : start->request_id;
	e->label = start->label;
	body_init(&e->body, w->budget);
	body_move(&e->body, start->body);
	e->message.body = body_span(&e->body);
	e->message.spent = &e->body;
	op_init(&e->forward.op, w->loop, machine_run, &e->machine);
	op_init(&e->store.op, w->loop, machine_run, &e->machine);
	op_init(&e->journal.op, w->loop, machine_run, &e->machine);
	op_init(&e->pause, w->loop, machine_run, &e->machine);
	lease_renewal_begin(&w->leases, &e->lease, start->claimed_us,
	    e->held.policy->lease_ms);
	machine_to(&e->machine, e->asked ? EXECUTION_ASK : EXECUTION_FORWARD);
	return e;
}
