/* SPDX-License-Identifier: BSD-2-Clause */
#include "gate/message.h"
#include "gate/steps.h"
#include "gate/worker.h"
#include "http/header.h"

enum after
request_pass(struct machine *machine)
{
	struct request *r = (struct request *)machine;
	message_make(r, 0);
	const struct forward_limits limits = message_limits(r->route, true);
	forward_start(r->generation->upstreams, &r->forward, r->route->upstream,
	    &r->message, &limits);
	return go(r, REQUEST_PASSED, WAIT);
}

enum after
request_passed(struct machine *machine)
{
	struct request *r = (struct request *)machine;
	r->upstream_us = r->forward.op.took_us;
	switch (r->forward.result) {
	case FORWARD_NOT_SENT:
		return request_refuse(r, PROBLEM_UPSTREAM_UNREACHABLE,
		    RESULT_UNREACHABLE);
	case FORWARD_TIMEOUT:
		return request_refuse(
		    r, PROBLEM_UPSTREAM_TIMEOUT, RESULT_UPSTREAM_FAILED);
	case FORWARD_BROKEN:
	case FORWARD_MALFORMED:
		return request_refuse(
		    r, PROBLEM_UPSTREAM_BROKEN, RESULT_UPSTREAM_FAILED);
	case FORWARD_ANSWERED:
		break;
	}
	if (r->forward.body_dropped)
		return request_refuse(
		    r, PROBLEM_UPSTREAM_BROKEN, RESULT_OVERLOADED);
	struct fields fields = header_for_client(r->arena, &r->forward.fields,
	    SPAN(""), clock_wall_ms());
	r->answer = answer_new(
	    r->forward.status, &fields, &r->forward.body, SPAN(""));
	r->answer->head_length = r->forward.head_length;
	r->problem = PROBLEM_COUNT_;
	r->result = RESULT_PASSED;
	return go(r, REQUEST_ANSWER, MORE);
}
