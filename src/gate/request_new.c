/* SPDX-License-Identifier: BSD-2-Clause */
#include "gate/request.h"
#include "gate/request_private.h"
#include "gate/worker.h"

/*
 * The way of a request:
 *
 *   CHECK ROUTE KEY BODY ⇢ RECEIVED DERIVE CLAIM ⇢ CLAIMED ─┬─ ANSWER
 *                     START ⇢ JOINED ───────────────────────┤
 *   (in flight, and it may wait)  ⇢ WAITED, and CLAIM again │
 *   (pass-through)        (RECEIVED) PASS ⇢ PASSED ─────────┴─ ANSWER
 *   ANSWER ⇢ ANSWERED FINISH       (a refusal goes to ANSWER from anywhere)
 */

static const struct machine_step steps[] = {
#define REQUEST_STEP(name, function, operation) {#name, function},
#include "tbl/steps.h"
};

static const struct op *
request_awaited(struct machine *machine)
{
	const struct request *r = request_of(machine);
	switch ((enum request_step)machine->step) {
#define REQUEST_STEP(name, function, operation)                               \
	case REQUEST_##name:                                                   \
		return operation;
#include "tbl/steps.h"
	case REQUEST_STEPS_:
		break;
	}
	must(false);
	return NULL;
}

static void
request_free(struct machine *machine)
{
	struct request *r = request_of(machine);
	op_cancel(&r->claim_op.op);
	waiters_leave(&r->waiter);
	op_cancel(&r->join);
	forward_stop(&r->forward);
	answer_unref(&r->claim_op.answer);
	answer_unref(&r->answer);
	exchange_end(&r->x);
	forward_clear(&r->forward);
	flow_clear(&r->up);
	generation_unref(&r->generation);
	/* The request itself lies in there. */
	struct arena *arena = r->arena;
	arena_free(&arena);
}

static const struct machine_kind request_kind = {
    "request", steps, request_awaited, request_free};

void
request_new(void *arg, struct exchange *x)
{
	struct worker *w = arg;
	struct request *r = arena_alloc(x->arena, sizeof *r);
	machine_init(&r->machine, &request_kind, &w->requests);
	r->worker = w;
	r->generation = generation_ref(w->generation);
	r->conf = r->generation->conf;
	r->x = x;
	r->arena = arena_ref(x->arena);
	r->problem = PROBLEM_COUNT_;
	r->store_us = r->upstream_us = -1;
	op_init(&x->op, w->loop, machine_run, &r->machine);
	op_init(&r->claim_op.op, w->loop, machine_run, &r->machine);
	op_init(&r->waiter.op, w->loop, machine_run, &r->machine);
	op_init(&r->join, w->loop, machine_run, &r->machine);
	op_init(&r->forward.op, w->loop, machine_run, &r->machine);
	flow_init(&r->up, w->loop, w->budget);
	machine_run(&r->machine);
}
