/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdlib.h>

#include "conf/amount.h"
#include "gate/request_private.h"

enum after
request_refuse(struct request *r, enum problem problem, enum outcome outcome)
{
	r->c.problem = problem;
	r->c.outcome = outcome;
	return request_to(r, REQUEST_ANSWER, MORE);
}

enum after
request_refuse_saying(struct request *r, enum problem problem,
    enum outcome outcome, struct span detail)
{
	r->detail = detail;
	return request_refuse(r, problem, outcome);
}

/* "WORDS: 1048576 bytes (1 MiB) at most." */
static struct span
limit_said(struct request *r, const char *words, int64_t most)
{
	char *text = amount_text(most, AMOUNT_SIZE);
	size_t digits = strspn(text, "0123456789");
	struct span unit = text[digits] != '\0'
	    ? arena_printf(r->c.arena, " (%.*s %s)", (int)digits, text,
		  text + digits)
	    : SPAN("");
	free(text);
	return arena_printf(r->c.arena, "%s: %" PRId64 " bytes%.*s at most.",
	    words, most, SPAN_FMT(unit));
}

enum after
request_refuse_body(struct request *r)
{
	return request_refuse_saying(r, PROBLEM_REQUEST_TOO_LARGE,
	    OUTCOME_TOO_LARGE,
	    limit_said(r, "The request's body is larger than this path accepts",
		r->c.policy->max_request_body));
}

enum after
request_refuse_fields(struct request *r)
{
	return request_refuse_saying(r, PROBLEM_HEADERS_TOO_LARGE,
	    OUTCOME_TOO_LARGE,
	    limit_said(r,
		"The request's header fields, together with its target, are "
		"larger than the gateway accepts",
		r->c.store_conf->max_request_headers));
}

/* Of one that is derived it is said what makes it (gate/response.c). */
static enum after
refuse_keyless(struct request *r)
{
	const struct strings *headers = &r->c.policy->headers;
	struct span names = SPAN("");
	if (r->c.derived)
		return request_refuse_saying(r, PROBLEM_KEY_MISSING,
		    OUTCOME_KEY_MISSING,
		    key_derive_wrong(
			r->c.arena, r->c.policy, body_span(r->c.body)));
	for (size_t i = 0; i < headers->count; i++)
		names = arena_printf(r->c.arena, "%.*s%s%s", SPAN_FMT(names),
		    i > 0 ? " or " : "", headers->list[i]);
	return request_refuse_saying(r, PROBLEM_KEY_MISSING,
	    OUTCOME_KEY_MISSING,
	    arena_printf(r->c.arena,
		"Requests to this path need an idempotency key, in the header "
		"%.*s.", SPAN_FMT(names)));
}

enum after
request_without_key(struct request *r, enum request_step next)
{
	if (r->c.policy->required)
		return refuse_keyless(r);
	r->c.policy = NULL;
	return request_to(r, next, MORE);
}
