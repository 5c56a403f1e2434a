/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "gate/access_log.h"
#include "gate/message.h"
#include "gate/request_private.h"
#include "gate/worker.h"
#include "http/header.h"

/*
 * Without a key: what the client sends goes on to the upstream as it comes,
 * and what that answers goes back.  A flow each way joins the two, which
 * know each other's pace by it and nothing else of one another.
 */

enum after
request_pass(struct machine *machine)
{
	struct request *r = request_of(machine);
	message_make(&r->c, 0);
	if (r->x->has_body && !r->x->body_ended) {
		r->c.message.source = &r->up;
		r->c.message.length =
		    r->c.head.chunked ? -1 : r->c.head.length;
		if (flow_reserve(&r->up) != 0)
			return request_refuse(
			    r, PROBLEM_OVERLOADED, OUTCOME_OVERLOADED);
		exchange_stream_body(r->x, &r->up);
	}
	const struct forward_limits limits = message_limits(r->c.route, NULL);
	forward_start(r->c.generation->upstreams, &r->forward,
	    r->c.route->upstream, &r->c.message, &limits);
	return request_to(r, REQUEST_PASSED, WAIT);
}

/* There is no answer to pass on. */
static enum after
refuse_pass(struct request *r)
{
	if (r->up.ended && r->up.error == E_MALFORMED)
		return request_client_malformed(r);
	if (r->up.ended && r->up.error != 0) {
		/* Half a request: its client has left. */
		r->c.outcome = OUTCOME_BAD_REQUEST;
		return request_to(r, REQUEST_FINISH, MORE);
	}
	access_log_failed(r, r->forward.op.error);
	switch (r->forward.result) {
	case FORWARD_NOT_SENT:
		return r->forward.op.error == E_NO_MEMORY
		    ? request_refuse(r, PROBLEM_OVERLOADED, OUTCOME_OVERLOADED)
		    : request_refuse(r, PROBLEM_UPSTREAM_UNREACHABLE,
			  OUTCOME_UNREACHABLE);
	case FORWARD_TIMEOUT:
		return request_refuse(
		    r, PROBLEM_UPSTREAM_TIMEOUT, OUTCOME_UPSTREAM_FAILED);
	case FORWARD_BROKEN:
	case FORWARD_UNREAD:
	case FORWARD_MALFORMED:
		return request_refuse(
		    r, PROBLEM_UPSTREAM_BROKEN, OUTCOME_UPSTREAM_FAILED);
	case FORWARD_ANSWERED:
		break;
	}
	must(false);
	return DONE;
}

enum after
request_pass_answered(struct machine *machine)
{
	struct request *r = request_of(machine);
	r->c.upstream_us = r->forward.op.took_us;
	if (r->forward.result != FORWARD_ANSWERED)
		return refuse_pass(r);
	const struct header_client client = {
	    SPAN(""), r->c.id, clock_wall_ms()};
	struct fields fields =
	    header_for_client(r->c.arena, &r->forward.fields, &client);
	r->c.answer = answer_new(
	    r->forward.status, &fields, &r->forward.body, SPAN(""));
	r->c.answer->head_length = r->forward.head_length;
	r->c.problem = PROBLEM_COUNT_;
	r->c.outcome = OUTCOME_PASSED;
	return request_to(r, REQUEST_ANSWER, MORE);
}
