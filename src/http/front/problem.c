/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <jansson.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/loop/clock.h"
#include "base/mem.h"
#include "http/front/problem.h"
#include "http/head/header_value.h"

static const char *const retry_words[] = {
    [SAME_KEY] = "same-key",
    [NEW_KEY] = "new-key",
    [FIX_REQUEST] = "fix-request",
};

const struct problem_line problem_lines[] = {
#define PROBLEM(name, status, type, retry, after, title, detail)              \
	{status, type, retry, after, title, detail},
#include "tbl/problems.h"
#undef PROBLEM
};

enum {
	/* Decimals of so many digits survive jansson's doubles. */
	REAL_DIGITS = 15,
	/* To ACP the unknown is in flight, until it is resolved. */
	UNRESOLVED_AFTER_S = 30,
};

/*
 * Nobody can make a new key of the same members: what a client that sends none
 * is told instead.
 */
static const char *const words_of_derived[PROBLEM_COUNT_] = {
    [PROBLEM_KEY_REUSED] = "An earlier request whose key is the same differs "
	"from this one in something else: send that one as it was, or correct "
	"what makes the key.",
    [PROBLEM_ATTEMPTS_EXHAUSTED] = "The request was sent to the API as often "
	"as is allowed, and is not sent again. Unless the API said each time "
	"that nothing had happened (503, for example), one of these attempts "
	"may have been executed: the operator can look the key up.",
    [PROBLEM_RESPONSE_NEVER_KEPT] = "The first request with this key was "
	"executed. Its answer cannot be given again, because the gateway is "
	"told to keep none of these answers; original_status is its status.",
    [PROBLEM_RESPONSE_NOT_KEPT] = "The first request with this key was "
	"executed. Its answer was too large to keep, so it cannot be given "
	"again; original_status is its status.",
    [PROBLEM_RESPONSE_NOT_SAID] = "The first request with this key was "
	"executed, says the API's database. What the API answered is not "
	"there, nor its status, original_status.",
    [PROBLEM_KEY_MISSING] = "No key can be made, because that is missing, "
	"null or empty in this request.",
};

/* What a retry does while nobody knows whether the request was executed. */
static const char *
words_of_retry(const struct problem_details *details)
{
	if (details->on_unknown == UNKNOWN_RETRY)
		return "A retry with the same key is sent to the API again.";
	if (details->on_unknown == UNKNOWN_RECONCILE)
		return "A retry with the same key first asks the API what "
		       "became of it.";
	if (details->made_of != NULL)
		return "It is not executed again until the outcome is known. "
		       "Send the same request again later, and no other in "
		       "its place.";
	return "It is not executed again until the outcome is known. Ask "
	       "again later with the same key, and make no new one for it.";
}

/* The caller frees it. */
static char *
detail_of(enum problem problem, const struct problem_details *details)
{
	const char *words =
	    details->made_of != NULL ? words_of_derived[problem] : NULL;
	struct span own = details->detail;
	if (words != NULL && problem == PROBLEM_KEY_MISSING && own.len > 0)
		return mem_printf("The key of this request is made of %s. "
		    "%.*s", details->made_of, SPAN_FMT(own));
	if (words != NULL)
		return mem_printf("The key of this request is made of %s. %s",
		    details->made_of, words);
	bool unknown = problem == PROBLEM_UNKNOWN_HELD ||
	    problem == PROBLEM_UNKNOWN_TIMEOUT ||
	    problem == PROBLEM_UNKNOWN_BROKEN ||
	    problem == PROBLEM_UNKNOWN_UNPROVEN ||
	    problem == PROBLEM_UNKNOWN_DRAIN;
	char *detail = unknown
	    ? mem_printf("%s %s", problem_lines[problem].detail,
		  words_of_retry(details))
	    : own.len > 0 ? mem_str(own)
			  : mem_text(problem_lines[problem].detail);
	/* Who sends no key sends the same one by sending the same. */
	static const char same[] = " with the same key";
	const size_t len = sizeof same - 1;
	char *at;
	while (details->made_of != NULL && (at = strstr(detail, same)) != NULL)
		memmove(at, at + len, strlen(at + len) + 1);
	return detail;
}

void
problem_put_hints(json_t *doc, enum problem problem,
    const struct problem_details *details)
{
	enum problem_retry retry = problem_lines[problem].retry;
	if (retry == NEW_KEY && details->made_of != NULL)
		retry = FIX_REQUEST;
	char *detail = detail_of(problem, details);
	json_object_set_new(doc, "detail", json_string(detail));
	json_object_set_new(doc, "retry", json_string(retry_words[retry]));
	json_object_set_new(doc, "retryable", json_boolean(retry == SAME_KEY));
	free(detail);
	if (details->key_id.len > 0)
		json_object_set_new(doc, "instance",
		    json_sprintf("urn:onceproxy:key:%.*s",
			SPAN_FMT(details->key_id)));
}

static json_t *
make_document(
    enum problem problem, const struct problem_details *details, int status)
{
	const struct problem_line *line = &problem_lines[problem];
	char *type = mem_printf("%s%s", details->base, line->type);
	json_t *doc = json_pack("{s:s, s:s, s:i}", "type", type, "title",
	    line->title, "status", status);
	free(type);
	must(doc != NULL);
	problem_put_hints(doc, problem, details);
	if (details->original_status != 0)
		json_object_set_new(doc, "original_status",
		    json_integer(details->original_status));
	else if (problem == PROBLEM_RESPONSE_NOT_SAID)
		json_object_set_new(doc, "original_status", json_null());
	const char *version = details->current_version;
	if (version != NULL) {
		json_t *value = json_loads(version, JSON_DECODE_ANY, NULL);
		/* A number that jansson cannot hold becomes a string. */
		bool exact = json_is_string(value) || json_is_integer(value) ||
		    (json_is_real(value) && strlen(version) <= REAL_DIGITS);
		json_object_set_new(doc, "current_version",
		    exact ? json_incref(value) : json_string(version));
		json_decref(value);
	}
	/*
	 * What clients of the preset's API, or by default of Stripe's, look at.
	 * Where that has a "type" of its own it is no problem document, and all
	 * there is: such an API allows no other members.
	 */
	const struct api_preset_facts facts = {line->type, status,
	    json_string_value(json_object_get(doc, "detail")),
	    details->request_id};
	json_t *own = api_preset_says(details->preset, &facts);
	if (own == NULL)
		own = json_pack("{s:{s:s, s:s, s:s}}", "error", "type",
		    "idempotency_error", "code", facts.name, "message",
		    facts.detail);
	if (json_object_get(own, "type") != NULL) {
		json_decref(doc);
		return own;
	}
	must(json_object_update(doc, own) == 0);
	json_decref(own);
	return doc;
}

struct answer *
problem_new(enum problem problem, const struct problem_details *details)
{
	const struct problem_line *line = &problem_lines[problem];
	int status = details->status != 0 ? details->status : line->status;
	json_t *doc = make_document(problem, details, status);
	bool alone = json_object_get(doc, "title") == NULL;
	struct body body;
	body_line(&body,
	    json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS)));
	json_decref(doc);

	char after[24];
	int64_t after_s = details->retry_after_s ? details->retry_after_s
						 : line->retry_after_s;
	bool held =
	    !strcmp(line->type, problem_lines[PROBLEM_UNKNOWN_HELD].type);
	if (details->preset == API_PRESET_ACP && after_s == 0 && held)
		after_s = UNRESOLVED_AFTER_S;
	snprintf(after, sizeof after, "%" PRId64, after_s);
	struct field list[] = {
	    {SPAN("Date"), details->date},
	    {SPAN("Content-Type"), alone ? SPAN("application/json")
					 : SPAN("application/problem+json")},
	    {SPAN("Cache-Control"), SPAN("no-store")},
	    {SPAN(""), SPAN("")},
	    {SPAN(""), SPAN("")},
	};
	struct fields fields = {list, 3};
	/* A 401 says what it wants (RFC 9110, section 15.5.2). */
	if (problem == PROBLEM_TOKEN_INVALID)
		fields_add(
		    &fields, SPAN("WWW-Authenticate"), SPAN("Bearer"));
	else if (after_s > 0)
		fields_add(&fields, SPAN("Retry-After"), span_str(after));
	/*
	 * Whether the same request is to be sent again, for clients that do so
	 * by themselves; nothing where that is theirs to decide.
	 */
	struct span again = span_str(api_presets[details->preset].again_field);
	bool never = line->retry != SAME_KEY ||
	    (held && details->on_unknown == UNKNOWN_HOLD);
	if (again.len > 0 && (after_s > 0 || never))
		fields_add(&fields, again,
		    after_s > 0 ? SPAN("true") : SPAN("false"));
	return answer_new(status, &fields, &body, SPAN(""));
}

/* --- as a message --- */

struct span
problem_text(struct arena *arena, const struct conf *conf,
    enum problem problem, struct span detail)
{
	const struct fields none = {NULL, 0};
	const struct problem_details details = {
	    .base = conf->problem_base,
	    .detail = detail,
	    .date = header_value_date(arena, clock_wall_ms()),
	};
	struct answer *answer = problem_new(problem, &details);
	struct span text = arena_printf(arena,
	    "HTTP/1.1 %d %s\r\nConnection: close\r\n"
	    "X-Request-Id: %.*s\r\nContent-Length: %zu\r\n",
	    answer->status,
	    MHD_get_reason_phrase_for((unsigned)answer->status),
	    SPAN_FMT(header_value_request_id(arena, &none)),
	    answer->body.len);
	for (size_t i = 0; i < answer->fields.count; i++)
		text = arena_printf(arena, "%.*s%.*s: %.*s\r\n",
		    SPAN_FMT(text), SPAN_FMT(answer->fields.list[i].name),
		    SPAN_FMT(answer->fields.list[i].value));
	text = arena_printf(arena, "%.*s\r\n%.*s", SPAN_FMT(text),
	    SPAN_FMT(body_span(&answer->body)));
	answer_unref(&answer);
	return text;
}
