/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "gate/cors.h"
#include "gate/key/fingerprint.h"
#include "gate/key/policy.h"
#include "gate/request.h"
#include "gate/response.h"
#include "http/head/header_value.h"

enum problem
response_to_head_check(enum head_verdict verdict)
{
	static const enum problem problems[] = {
	    [HEAD_CHECK_OK] = PROBLEM_BAD_REQUEST,
	    [HEAD_CHECK_BAD_REQUEST] = PROBLEM_BAD_REQUEST,
	    [HEAD_CHECK_METHOD] = PROBLEM_METHOD_NOT_ALLOWED,
	    [HEAD_CHECK_TOO_LARGE] = PROBLEM_REQUEST_TOO_LARGE,
	    [HEAD_CHECK_EXPECTATION] = PROBLEM_EXPECTATION_FAILED,
	    [HEAD_CHECK_HEADERS_TOO_LARGE] = PROBLEM_HEADERS_TOO_LARGE,
	    [HEAD_CHECK_CODING] = PROBLEM_CODING_NOT_IMPLEMENTED,
	    [HEAD_CHECK_VERSION] = PROBLEM_VERSION_NOT_SUPPORTED,
	};
	return problems[verdict];
}

/* Names the parts of a body that make the key. */
static const char *
makers_of_key(struct arena *arena, const struct conf_idempotency *policy)
{
	const struct json_pointers *from = &policy->derive_from;
	if (policy->derive_from_body)
		return "the whole body";
	struct span text = from->count > 1 ? SPAN("the body's members ")
					   : SPAN("the body's member ");
	for (size_t i = 0; i < from->count; i++) {
		char *name = json_pointer_text(&from->list[i]);
		text = arena_printf(arena, "%.*s%s%s", SPAN_FMT(text),
		    i == 0 ? "" : i + 1 < from->count ? ", " : " and ", name);
		free(name);
	}
	return text.ptr;
}

/*
 * ACP takes a 5xx for a request that did not happen: where it did, and only its
 * answer is missing, it is in flight there, and what cannot be read unknown.
 */
static enum problem
told_as(const struct conf_idempotency *policy, enum problem problem)
{
	bool happened = problem == PROBLEM_OUTCOME_NOT_STORED ||
	    problem == PROBLEM_ANSWER_NO_MEMORY ||
	    problem == PROBLEM_ANSWER_NOT_FETCHED;
	if (policy == NULL || policy->preset != API_PRESET_ACP)
		return problem;
	if (problem == PROBLEM_RECORD_UNREADABLE)
		return PROBLEM_UNKNOWN_HELD;
	return happened ? PROBLEM_IN_FLIGHT : problem;
}

void
response_problem(struct request *r)
{
	const struct conf_idempotency *policy = r->c.policy;
	enum problem problem = told_as(policy, r->c.problem);
	struct span detail = r->detail;
	if (policy != NULL && r->c.problem == PROBLEM_KEY_REUSED &&
	    detail.len == 0) {
		char *compared = fingerprint_words(policy);
		detail = arena_printf(r->c.arena, "An earlier request with "
		    "this idempotency key differs from this one in what is "
		    "compared here: %s. A new request needs a new key; a retry "
		    "is sent as the first request was.", compared);
		free(compared);
	}
	struct problem_details details = {
	    .base = r->c.conf->problem_base,
	    .key_id = span_str(r->c.key_hex),
	    .detail = detail,
	    .preset = API_PRESET_NONE,
	    .request_id = arena_str(r->c.arena, r->c.id),
	    .on_unknown = UNKNOWN_HOLD,
	    .made_of = policy != NULL && r->c.derived
		? makers_of_key(r->c.arena, policy)
		: NULL,
	    .original_status = r->c.original_status,
	    .current_version = r->c.claim_op.current[0] != '\0'
		? r->c.claim_op.current
		: NULL,
	    .retry_after_s = r->c.retry_after_s,
	    .date = header_value_date(r->c.arena, clock_wall_ms()),
	};
	if (policy != NULL) {
		details.status = policy_status(policy, problem);
		details.preset = policy->preset;
		details.on_unknown = policy->on_unknown;
	}
	answer_unref(&r->c.answer);
	r->c.answer = problem_new(problem, &details);
	r->c.replay = false;
	r->c.omitted.count = 0;
}

bool
response_echoes(const struct request *r)
{
	return r->c.policy != NULL && r->c.policy->echo_key &&
	    r->c.key.field.name.len > 0;
}

struct fields
response_client_fields(struct request *r)
{
	struct fields more = fields_new(
	    r->c.arena, r->c.omitted.count + 4 + CORS_FIELDS_MAX);
	if (cors_applies(r->c.route))
		cors_put(r->c.arena, r->c.route->idempotency,
		    &r->c.head.fields, &more);
	for (size_t i = 0; i < r->c.omitted.count; i++)
		more.list[more.count++] = r->c.omitted.list[i];
	fields_add(&more, SPAN("X-Request-Id"), r->c.id);
	if (response_echoes(r))
		more.list[more.count++] = r->c.key.field;
	if (!r->c.replay)
		return more;
	struct span name = span_str(r->c.policy->replay_header);
	if (name.len > 0)
		fields_add(&more, name, SPAN("true"));
	if (r->c.answer->request_id.len > 0)
		fields_add(&more, SPAN("Original-Request-Id"),
		    r->c.answer->request_id);
	return more;
}
