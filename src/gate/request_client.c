/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "base/loop/log.h"
#include "base/test_build.h"
#include "gate/access_log.h"
#include "gate/request_private.h"
#include "gate/response.h"
#include "gate/worker.h"
#include "http/head/header.h"

/*
 * The client's side of a request: the steps before its key is claimed and
 * those after its answer is known.
 */

/* --- who asks for what --- */

/* Malformed HTTP: never forwarded, and the connection is closed. */
static enum after
refuse_head(struct request *r, enum head_verdict verdict)
{
	enum problem problem = response_to_head_check(verdict);
	bool large = verdict == HEAD_CHECK_TOO_LARGE ||
	    verdict == HEAD_CHECK_HEADERS_TOO_LARGE;
	r->close = true;
	/* Too many of them have a sentence of their own. */
	if (verdict == HEAD_CHECK_HEADERS_TOO_LARGE &&
	    *r->c.head.message == '\0')
		return request_refuse_fields(r);
	return request_refuse_saying(r, problem,
	    large ? OUTCOME_TOO_LARGE : OUTCOME_BAD_REQUEST,
	    span_str(r->c.head.message));
}

enum after
request_client_check(struct machine *machine)
{
	struct request *r = request_of(machine);
	enum head_verdict verdict =
	    head_check(r->c.arena, &r->x->head, &r->c.head);
	if (verdict != HEAD_CHECK_OK)
		return refuse_head(r, verdict);
	r->c.id = header_request_id(r->c.arena, &r->c.head.fields);
	machine_name(&r->machine, r->c.id);
	if (!header_connection_ok(r->c.conf, &r->c.head.fields) &&
	    INVARIANT(connection_names)) {
		r->close = true;
		return request_refuse_saying(r, PROBLEM_BAD_REQUEST,
		    OUTCOME_BAD_REQUEST,
		    SPAN("Connection names a field that must not be removed."));
	}
	if (r->c.worker->draining && INVARIANT(draining_refuses)) {
		r->close = true;
		return request_refuse(r, PROBLEM_DRAINING, OUTCOME_DRAINING);
	}
	return request_to(r, REQUEST_ROUTE, MORE);
}

enum after
request_client_route(struct machine *machine)
{
	struct request *r = request_of(machine);
	if (!claimant_find_route(&r->c)) {
		r->close = true;
		return request_refuse_saying(r, PROBLEM_BAD_REQUEST,
		    OUTCOME_BAD_REQUEST,
		    SPAN("The path leads to different routes, depending on "
			 "whether %2F is a slash."));
	}
	if (r->c.route == NULL)
		return request_refuse(r, PROBLEM_NO_ROUTE, OUTCOME_NO_ROUTE);
	if (r->c.route->kind != ROUTE_UPSTREAM)
		return request_to(r, REQUEST_FIND, MORE);
	return request_to(r, r->c.policy ? REQUEST_KEY : REQUEST_BODY, MORE);
}

static enum after
refuse_repeated_scope(struct request *r)
{
	r->close = true;
	return request_refuse_saying(r, PROBLEM_BAD_REQUEST,
	    OUTCOME_BAD_REQUEST,
	    SPAN("A header field that names the scope appears twice."));
}

/* Who asks about a key (next is another step) is never passed on. */
static enum after
without_scope(struct request *r, enum request_step next)
{
	if (!r->c.policy->scope_missing_forward || next != REQUEST_BODY) {
		struct span wanted =
		    scope_wanted(r->c.arena, &r->c.policy->scope);
		return request_refuse_saying(r, PROBLEM_SCOPE_MISSING,
		    OUTCOME_SCOPE_MISSING,
		    arena_printf(r->c.arena,
			"A request with an idempotency key must say whose key "
			"it is, by %.*s; this one does not.",
			SPAN_FMT(wanted)));
	}
	r->c.policy = NULL;
	return request_to(r, REQUEST_BODY, MORE);
}

enum after
request_client_scope(struct request *r, enum request_step next)
{
	const char *message = "";
	switch (claimant_find_scope(&r->c, &message)) {
	case SCOPE_FOUND:
		return request_to(r, next, MORE);
	case SCOPE_MISSING:
		return without_scope(r, next);
	case SCOPE_REPEATED:
		return refuse_repeated_scope(r);
	case SCOPE_MALFORMED:
		return request_refuse_saying(r, PROBLEM_SCOPE_MISSING,
		    OUTCOME_SCOPE_MISSING,
		    SPAN("The credentials in Authorization, which say whose "
			 "idempotency key this is, are malformed."));
	case SCOPE_INVALID:
		return request_refuse_saying(r, PROBLEM_TOKEN_INVALID,
		    OUTCOME_TOKEN_INVALID,
		    arena_printf(r->c.arena,
			"%s This says nothing of a request that was sent "
			"before: renew the token, and keep the key.",
			message));
	}
	must(false);
	return DONE;
}

enum after
request_client_key(struct machine *machine)
{
	struct request *r = request_of(machine);
	const char *message;
	switch (claimant_find_key(&r->c)) {
	case KEY_FOUND:
		return request_client_scope(r, REQUEST_BODY);
	case KEY_INVALID:
		return request_refuse_saying(r, PROBLEM_KEY_INVALID,
		    OUTCOME_KEY_INVALID, span_str(r->c.key.message));
	case KEY_MISSING:
		if (r->c.derived)
			return request_client_scope(r, REQUEST_BODY);
		/* It may pass, but nobody can tell whose it is. */
		if (!r->c.policy->required &&
		    claimant_find_scope(&r->c, &message) == SCOPE_REPEATED)
			return refuse_repeated_scope(r);
		return request_without_key(r, REQUEST_BODY);
	}
	must(false);
	return DONE;
}

/* --- the body --- */

enum after
request_client_malformed(struct request *r)
{
	r->close = true;
	return request_refuse_saying(r, PROBLEM_BAD_REQUEST,
	    OUTCOME_BAD_REQUEST,
	    SPAN("A chunk of the body, or a trailer, is not framed as HTTP "
		 "requires."));
}

/*
 * With a key it is read whole.  Without one it is passed on as it comes, but
 * for a small one: that goes to the upstream in one piece with its head.
 */
enum after
request_client_body(struct machine *machine)
{
	struct request *r = request_of(machine);
	size_t most = r->c.policy ? (size_t)r->c.policy->max_request_body
				: request_pass_whole(r);
	if (r->c.policy == NULL && r->x->has_body &&
	    (r->c.head.chunked || r->c.head.length > (int64_t)most))
		return request_to(r, REQUEST_PASS, MORE);
	exchange_read_body(r->x, most);
	return request_to(r, REQUEST_RECEIVED, WAIT);
}

enum after
request_client_received(struct machine *machine)
{
	struct request *r = request_of(machine);
	switch (r->x->op.error) {
	case 0:
		return request_to(
		    r, r->c.policy ? REQUEST_DERIVE : REQUEST_PASS, MORE);
	case E_TOO_LARGE:
		return request_refuse_body(r);
	case E_NO_MEMORY:
		return request_refuse(
		    r, PROBLEM_OVERLOADED, OUTCOME_OVERLOADED);
	case E_MALFORMED:
		return request_client_malformed(r);
	default:
		/* The client left: nothing was claimed or forwarded. */
		r->c.outcome = OUTCOME_BAD_REQUEST;
		return request_to(r, REQUEST_FINISH, MORE);
	}
}

/* --- the answer --- */

enum after
request_client_answer(struct machine *machine)
{
	struct request *r = request_of(machine);
	if (r->c.problem != PROBLEM_COUNT_)
		response_problem(r);
	if (r->c.id.len == 0)
		r->c.id = header_request_id(
		    r->c.arena, &(struct fields){NULL, 0});
	struct fields more = response_fields(r);
	if (r->c.problem == PROBLEM_COUNT_ && r->forward.rest != NULL)
		exchange_answer_flow(r->x, r->c.answer, &more, r->forward.rest,
		    r->forward.rest_length, r->close);
	else
		exchange_answer(r->x, r->c.answer, &more, r->close);
	return request_to(r, REQUEST_ANSWERED, WAIT);
}

enum after
request_client_answered(struct machine *machine)
{
	struct request *r = request_of(machine);
	const struct flow *rest = r->forward.rest;
	/* What a record says of it stands; without one it has failed. */
	if (rest != NULL && rest->ended && rest->error != 0 &&
	    r->c.outcome == OUTCOME_PASSED) {
		r->c.outcome = OUTCOME_UPSTREAM_FAILED;
		access_log_failed(r, rest->error);
	}
	return request_to(r, REQUEST_FINISH, MORE);
}

enum after
request_client_finish(struct machine *machine)
{
	struct request *r = request_of(machine);
	int64_t took_us = clock_us() - r->x->began_us;
	struct series *series = r->c.route != NULL
	    ? r->c.generation->metered.routes[r->c.route->index]
	    : r->c.worker->meter.no_route;
	int status = access_log_status(r);
	counter_add(&series->outcomes[r->c.outcome], 1);
	if (status != 0)
		counter_add(&series->classes[status / 100 - 1], 1);
	histogram_add(&series->seconds, took_us);
	access_log_rare(r);
	access_log(r, took_us);
	return DONE;
}
