/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "gate/access.h"
#include "gate/execution.h"
#include "gate/message.h"
#include "gate/request.h"
#include "gate/request_private.h"
#include "gate/response.h"
#include "gate/worker.h"
#include "http/header.h"
#include "http/route.h"

/*
 * The way of a request, top to bottom:
 *
 *   CHECK ROUTE KEY BODY ⇢ RECEIVED DERIVE CLAIM ⇢ CLAIMED ─┬─ ANSWER
 *                                      START ⇢ JOINED ──────┤
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
	const struct request *r = (const struct request *)machine;
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

static void request_free(struct machine *machine);

static const struct machine_kind request_kind = {
    "request", steps, request_awaited, request_free};

enum after
request_refuse(struct request *r, enum problem problem, enum outcome outcome)
{
	r->problem = problem;
	r->outcome = outcome;
	return go(r, REQUEST_ANSWER, MORE);
}

enum after
request_refuse_saying(struct request *r, enum problem problem,
    enum outcome outcome, struct span detail)
{
	r->detail = detail;
	return request_refuse(r, problem, outcome);
}

enum after
request_without_key(struct request *r, enum request_step next)
{
	if (r->policy->required)
		return request_refuse(
		    r, PROBLEM_KEY_MISSING, OUTCOME_KEY_MISSING);
	r->policy = NULL;
	return go(r, next, MORE);
}

struct span *
request_scope(const struct request *r)
{
	return arena_alloc(
	    r->arena, (r->policy->scope.count + 1) * sizeof(struct span));
}

/* --- who asks for what --- */

/* Malformed HTTP: never forwarded, and the connection is closed. */
static enum after
refuse_head(struct request *r, enum head_verdict verdict)
{
	enum problem problem = response_to_head_check(verdict);
	bool large = verdict == HEAD_CHECK_TOO_LARGE ||
	    verdict == HEAD_CHECK_HEADERS_TOO_LARGE;
	r->close = true;
	return request_refuse_saying(r, problem,
	    large ? OUTCOME_TOO_LARGE : OUTCOME_BAD_REQUEST,
	    span_str(r->head.message));
}

enum after
request_check(struct machine *machine)
{
	struct request *r = (struct request *)machine;
	struct exchange *x = r->x;
	const struct head_as_sent head = {
	    x->method, x->target, x->version, x->fields};
	enum head_verdict verdict = head_check(r->arena, &head, &r->head);
	if (verdict != HEAD_CHECK_OK)
		return refuse_head(r, verdict);
	if (x->head_bytes > (size_t)r->conf->max_request_headers ||
	    (x->crowded && x->tls)) {
		r->head.message = "";
		return refuse_head(r, HEAD_CHECK_HEADERS_TOO_LARGE);
	}
	if (x->ambiguous && INVARIANT(head_gaps)) {
		r->head.message = "A line of the head does not end, or is not "
				"divided, as HTTP says.";
		return refuse_head(r, HEAD_CHECK_BAD_REQUEST);
	}
	r->id = header_request_id(r->arena, &r->head.fields);
	machine_name(&r->machine, r->id);
	if (!header_connection_ok(r->conf, &r->head.fields) &&
	    INVARIANT(connection_names)) {
		r->close = true;
		return request_refuse_saying(r, PROBLEM_BAD_REQUEST,
		    OUTCOME_BAD_REQUEST,
		    SPAN("Connection names a field that must not be lost."));
	}
	if (r->worker->draining && INVARIANT(draining_refuses)) {
		r->close = true;
		return request_refuse(r, PROBLEM_DRAINING, OUTCOME_DRAINING);
	}
	return go(r, REQUEST_ROUTE, MORE);
}

enum after
request_route(struct machine *machine)
{
	struct request *r = (struct request *)machine;
	r->route = route_find(r->conf, r->x->method, &r->head.target);
	if (r->route == NULL)
		return request_refuse(r, PROBLEM_NO_ROUTE, OUTCOME_NO_ROUTE);
	r->policy = r->route->idempotency;
	return go(r, r->policy ? REQUEST_KEY : REQUEST_BODY, MORE);
}

static enum after
check_scope(struct request *r)
{
	struct span *values = request_scope(r);
	switch (scope_find(r->policy, &r->head.fields, values)) {
	case SCOPE_FOUND:
		return go(r, REQUEST_BODY, MORE);
	case SCOPE_MISSING:
		return request_refuse(
		    r, PROBLEM_SCOPE_MISSING, OUTCOME_SCOPE_MISSING);
	case SCOPE_REPEATED:
		r->close = true;
		return request_refuse_saying(r, PROBLEM_BAD_REQUEST,
		    OUTCOME_BAD_REQUEST,
		    SPAN("A header field that names the scope stands there "
			 "twice."));
	}
	must(false);
	return DONE;
}

enum after
request_key(struct machine *machine)
{
	struct request *r = (struct request *)machine;
	const struct conf_idempotency *policy = r->policy;
	r->derived =
	    policy->derive_from_body || policy->derive_from.count > 0;
	switch (key_find(r->arena, policy, &r->head.fields, &r->key)) {
	case KEY_FOUND:
		r->derived = false;
		return check_scope(r);
	case KEY_INVALID:
		return request_refuse_saying(r, PROBLEM_KEY_INVALID,
		    OUTCOME_KEY_INVALID, span_str(r->key.message));
	case KEY_MISSING:
		if (r->derived)
			return check_scope(r);
		return request_without_key(r, REQUEST_BODY);
	}
	must(false);
	return DONE;
}

/* --- the body --- */

/*
 * With a key it is read whole.  Without one it is passed on as it comes, but
 * for a small one: that goes to the upstream in one piece with its head.
 */
enum after
request_body(struct machine *machine)
{
	struct request *r = (struct request *)machine;
	size_t most = r->policy ? (size_t)r->policy->max_request_body
				: PASS_SMALL_BYTES;
	if (r->policy == NULL && r->x->has_body &&
	    (r->head.chunked || r->head.length > (int64_t)most))
		return go(r, REQUEST_PASS, MORE);
	front_read_body(r->x, most);
	return go(r, REQUEST_RECEIVED, WAIT);
}

enum after
request_received(struct machine *machine)
{
	struct request *r = (struct request *)machine;
	switch (r->x->op.error) {
	case 0:
		return go(r, r->policy ? REQUEST_DERIVE : REQUEST_PASS, MORE);
	case E_TOO_LARGE:
		return request_refuse(
		    r, PROBLEM_REQUEST_TOO_LARGE, OUTCOME_TOO_LARGE);
	case E_NO_MEMORY:
		return request_refuse(
		    r, PROBLEM_OVERLOADED, OUTCOME_OVERLOADED);
	default:
		/* The client left: nothing was claimed or forwarded. */
		r->outcome = OUTCOME_BAD_REQUEST;
		return go(r, REQUEST_FINISH, MORE);
	}
}

/* --- the answer --- */

enum after
request_answer(struct machine *machine)
{
	struct request *r = (struct request *)machine;
	if (r->problem != PROBLEM_COUNT_)
		response_problem(r);
	if (r->id.len == 0)
		r->id = header_request_id(
		    r->arena, &(struct fields){NULL, 0});
	struct fields more = response_fields(r);
	if (r->problem == PROBLEM_COUNT_ && r->forward.rest != NULL)
		front_answer_flow(r->x, r->answer, &more, r->forward.rest,
		    r->forward.rest_length, r->close);
	else
		front_answer(r->x, r->answer, &more, r->close);
	return go(r, REQUEST_ANSWERED, WAIT);
}

enum after
request_answered(struct machine *machine)
{
	struct request *r = (struct request *)machine;
	const struct flow *rest = r->forward.rest;
	/* What a record says of it stands; without one it has failed. */
	if (rest != NULL && rest->ended && rest->error != 0 &&
	    r->outcome == OUTCOME_PASSED) {
		r->outcome = OUTCOME_UPSTREAM_FAILED;
		access_log_failed(r, rest->error);
	}
	return go(r, REQUEST_FINISH, MORE);
}

enum after
request_finish(struct machine *machine)
{
	struct request *r = (struct request *)machine;
	int64_t took_us = clock_us() - r->x->began_us;
	struct series *series = r->route != NULL
	    ? r->generation->metered.routes[r->route->index]
	    : r->worker->meter.no_route;
	counter_add(&series->outcomes[r->outcome], 1);
	histogram_add(&series->seconds, took_us);
	access_log_rare(r);
	access_log(r, took_us);
	return DONE;
}

/* --- life --- */

void
request_arrived(void *arg, struct exchange *x)
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
	op_init(&x->op, w->loop, machine_run, r);
	op_init(&r->claim_op.op, w->loop, machine_run, r);
	op_init(&r->waiter.op, w->loop, machine_run, r);
	op_init(&r->join, w->loop, machine_run, r);
	op_init(&r->forward.op, w->loop, machine_run, r);
	flow_init(&r->up, w->loop, w->budget);
	machine_run(&r->machine);
}

static void
request_free(struct machine *machine)
{
	struct request *r = (struct request *)machine;
	op_cancel(&r->claim_op.op);
	waiters_leave(&r->waiter);
	op_cancel(&r->join);
	forward_stop(&r->forward);
	answer_unref(&r->claim_op.answer);
	answer_unref(&r->answer);
	front_end(&r->x);
	forward_clear(&r->forward);
	flow_clear(&r->up);
	generation_unref(&r->generation);
	/* It lies in there itself. */
	struct arena *arena = r->arena;
	arena_free(&arena);
}
