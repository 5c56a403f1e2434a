/* SPDX-License-Identifier: BSD-2-Clause */
#include "gate/request.h"
#include "gate/response.h"
#include "http/header.h"

enum problem
response_to_head_check(enum head_verdict verdict)
{
	switch (verdict) {
	case HEAD_CHECK_METHOD:
		return PROBLEM_METHOD_NOT_ALLOWED;
	case HEAD_CHECK_TOO_LARGE:
		return PROBLEM_REQUEST_TOO_LARGE;
	case HEAD_CHECK_EXPECTATION:
		return PROBLEM_EXPECTATION_FAILED;
	case HEAD_CHECK_HEADERS_TOO_LARGE:
		return PROBLEM_HEADERS_TOO_LARGE;
	case HEAD_CHECK_CODING:
		return PROBLEM_CODING_NOT_IMPLEMENTED;
	case HEAD_CHECK_VERSION:
		return PROBLEM_VERSION_NOT_SUPPORTED;
	case HEAD_CHECK_OK:
	case HEAD_CHECK_BAD_REQUEST:
		break;
	}
	return PROBLEM_BAD_REQUEST;
}

void
response_problem(struct request *r)
{
	const struct problem_details details = {
	    .base = r->conf->problem_base,
	    .key_id = span_str(r->key_hex),
	    .detail = r->detail,
	    .original_status = r->original_status,
	    .current_version = r->claim_op.current[0] != '\0'
		? r->claim_op.current
		: NULL,
	    .retry_after_s = r->retry_after_s,
	    .date = header_date(r->arena, clock_wall_ms()),
	};
	answer_unref(&r->answer);
	r->answer = problem_new(r->problem, &details);
	r->replay = false;
	r->omitted.count = 0;
}

struct fields
response_fields(struct request *r)
{
	struct fields more = {
	    arena_alloc(r->arena,
		(r->omitted.count + 3) * sizeof(struct field)),
	    0};
	for (size_t i = 0; i < r->omitted.count; i++)
		more.list[more.count++] = r->omitted.list[i];
	more.list[more.count++] =
	    (struct field){SPAN("X-Request-Id"), r->id};
	if (!r->replay)
		return more;
	struct span name = span_str(r->policy->replay_header);
	if (name.len > 0)
		more.list[more.count++] = (struct field){name, SPAN("true")};
	if (r->answer->request_id.len > 0)
		more.list[more.count++] = (struct field){
		    SPAN("Original-Request-Id"), r->answer->request_id};
	return more;
}

struct fields
response_copy(struct arena *arena, const struct fields *fields)
{
	size_t bytes = fields->count * sizeof(struct field);
	struct fields copy = {arena_alloc(arena, bytes), fields->count};
	for (size_t i = 0; i < fields->count; i++)
		copy.list[i] = (struct field){
		    arena_dup(arena, fields->list[i].name),
		    arena_dup(arena, fields->list[i].value)};
	return copy;
}
