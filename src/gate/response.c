/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "gate/key/fingerprint_words.h"
#include "gate/key/policy.h"
#include "gate/request.h"
#include "gate/response.h"
#include "http/head/header.h"

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

/* What makes the key of a request that brings none; the caller frees it. */
static char *
made_of(const struct request *r)
{
	char *text = NULL;
	size_t len;
	const struct pointers *from;
	if (!r->c.derived || r->c.policy == NULL)
		return NULL;
	if (r->c.policy->derive_from_body)
		return mem_text("the whole body");
	from = &r->c.policy->derive_from;
	FILE *out = open_memstream(&text, &len);
	must(out != NULL);
	fputs(from->count > 1 ? "the body's members " : "the body's member ",
	    out);
	for (size_t i = 0; i < from->count; i++) {
		const struct pointer *pointer = &from->list[i];
		fputs(i == 0 ? "" : i + 1 < from->count ? ", " : " and ", out);
		for (size_t k = 0; k < pointer->count; k++)
			pointer_write(out, pointer->segments[k]);
	}
	must(fclose(out) == 0);
	return text;
}

/* A sentence for this request; NULL: that of all.  The caller frees it. */
static char *
own_detail(const struct request *r)
{
	if (r->detail.len > 0)
		return mem_str(r->detail);
	if (r->c.problem != PROBLEM_KEY_REUSED || r->c.policy == NULL)
		return NULL;
	char *compared = fingerprint_words(r->c.policy);
	char *detail = mem_printf("An earlier request with this idempotency "
	    "key differs from this one in what is compared here: %s. A new "
	    "request needs a new key; a retry is sent as the first request "
	    "was.", compared);
	free(compared);
	return detail;
}

void
response_problem(struct request *r)
{
	char *makers = made_of(r);
	char *detail = own_detail(r);
	char *request_id = mem_str(r->c.id);
	const struct conf_idempotency *policy = r->c.policy;
	const struct problem_details details = {
	    .base = r->c.conf->problem_base,
	    .key_id = span_str(r->c.key_hex),
	    .detail = span_str(detail),
	    .status =
		policy != NULL ? policy_status(policy, r->c.problem) : 0,
	    .preset = policy != NULL ? policy->preset : API_PRESET_NONE,
	    .request_id = request_id,
	    .on_unknown = policy != NULL ? policy->on_unknown : UNKNOWN_HOLD,
	    .made_of = makers,
	    .original_status = r->c.original_status,
	    .current_version = r->c.claim_op.current[0] != '\0'
		? r->c.claim_op.current
		: NULL,
	    .retry_after_s = r->c.retry_after_s,
	    .date = header_date(r->c.arena, clock_wall_ms()),
	};
	answer_unref(&r->c.answer);
	r->c.answer = problem_new(r->c.problem, &details);
	free(makers);
	free(detail);
	free(request_id);
	r->c.replay = false;
	r->c.omitted.count = 0;
}

struct fields
response_fields(struct request *r)
{
	struct fields more = {
	    arena_alloc(r->c.arena,
		(r->c.omitted.count + 3) * sizeof(struct field)),
	    0};
	for (size_t i = 0; i < r->c.omitted.count; i++)
		more.list[more.count++] = r->c.omitted.list[i];
	more.list[more.count++] =
	    (struct field){SPAN("X-Request-Id"), r->c.id};
	if (!r->c.replay)
		return more;
	struct span name = span_str(r->c.policy->replay_header);
	if (name.len > 0)
		more.list[more.count++] = (struct field){name, SPAN("true")};
	if (r->c.answer->request_id.len > 0)
		more.list[more.count++] = (struct field){
		    SPAN("Original-Request-Id"), r->c.answer->request_id};
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
