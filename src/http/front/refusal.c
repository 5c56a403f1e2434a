/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/loop/loop.h"
#include "http/front/refusal.h"
#include "http/head/header_value.h"

/* The reason phrases of what is refused here. */
static const char *
reason_of(int status)
{
	return status == 400 ? "Bad Request"
	    : status == 408  ? "Request Timeout"
			     : "Service Unavailable";
}

struct span
refusal_text(struct arena *arena, const struct conf *conf,
    enum problem problem, struct span detail)
{
	const struct problem_details details = {
	    .base = conf->problem_base,
	    .detail = detail,
	    .date = header_value_date(arena, clock_wall_ms()),
	};
	struct answer *answer = problem_new(problem, &details);
	struct span head = arena_printf(arena,
	    "HTTP/1.1 %d %s\r\nConnection: close\r\n"
	    "X-Request-Id: %.*s\r\nContent-Length: %zu\r\n",
	    answer->status, reason_of(answer->status),
	    SPAN_FMT(header_value_request_id(arena, &(struct fields){NULL, 0})),
	    answer->body.len);
	for (size_t i = 0; i < answer->fields.count; i++)
		head = arena_printf(arena, "%.*s%.*s: %.*s\r\n",
		    SPAN_FMT(head), SPAN_FMT(answer->fields.list[i].name),
		    SPAN_FMT(answer->fields.list[i].value));
	struct span all = arena_printf(arena, "%.*s\r\n%.*s", SPAN_FMT(head),
	    SPAN_FMT(body_span(&answer->body)));
	answer_unref(&answer);
	return all;
}
