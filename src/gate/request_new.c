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
 *   (a path of ours)    (ROUTE) FIND ASK ⇢ ASKED ─────────┤
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
	waiters_leave(&r->waiter);
	request_lookup_end(r);
	request_pass_end(r);
	claimant_clear(&r->c);
	forward_stop(&r->forward);
	exchange_end(&r->x);
	forward_clear(&r->forward);
	flow_clear(&r->up);
	/* The request itself lies in there. */
	struct arena *arena = r->c.arena;
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
	r->x = x;
	const struct claimant_home home = {
	    w, w->loop, w->generation, w->conf};
	claimant_init(&r->c, &home, arena_ref(x->arena), &r->machine);
	r->c.method = x->head.method;
	r->c.body = &x->body;
	r->c.has_body = x->has_body;
	r->c.tls = x->tls;
	r->c.certificate = x->certificate;
	r->c.client = x->client;
	r->c.rest = &r->forward;
	op_init(&x->op, w->loop, machine_run, &r->machine);
	op_init(&r->waiter.op, w->loop, machine_run, &r->machine);
	op_init(&r->forward.op, w->loop, machine_run, &r->machine);
	flow_init(&r->up, w->loop, w->budget);
	machine_run(&r->machine);
}
