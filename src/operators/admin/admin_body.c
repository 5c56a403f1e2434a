/* SPDX-License-Identifier: BSD-2-Clause */
#include "operators/admin/admin_answer.h"
#include "operators/admin/admin_body.h"
#include "operators/admin/admin_machine_private.h"

enum {
	/* What all but an answer needs: names, a scope, a note, 100 fields. */
	SMALL_BYTES = 64 * 1024,
	/* The interface's memory is this, or as much as four such bodies. */
	BUDGET_BYTES = 64 * 1024 * 1024,
	BUDGET_BODIES = 4,
	/* A list of 100 fields as pairs is the most that is asked for. */
	DEPTH_MAX = 8,
	VALUES_MAX = 1000,
	/* What a value costs besides its text. */
	VALUE_BYTES = 256,
};

/* --- how much --- */

/*
 * The largest answer that any route stores, twice: base64 takes four thirds of
 * it, and JSON that is quoted in JSON hardly ever more than the double.
 */
static size_t
largest_bytes(const struct conf *conf)
{
	int64_t most = conf->defaults->max_response_body;
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_idempotency *policy =
		    conf->routes[i].idempotency;
		if (policy != NULL && policy->max_response_body > most)
			most = policy->max_response_body;
	}
	return 2 * (size_t)most + SMALL_BYTES;
}

void
admin_body_budget(struct admin *admin, const struct conf *conf)
{
	size_t bytes = BUDGET_BODIES * largest_bytes(conf);
	if (bytes < BUDGET_BYTES)
		bytes = BUDGET_BYTES;
	atomic_store_explicit(
	    &admin->budget.limit, bytes, memory_order_relaxed);
}

size_t
admin_body_most(const struct admin_request *a)
{
	if (a->endpoint->flags & ADMIN_TAKES_ANSWER)
		return largest_bytes(a->conf);
	return a->endpoint->flags & ADMIN_TAKES_BODY ? SMALL_BYTES : 0;
}

/* --- parsing --- */

/* Behind the string that begins there. */
static size_t
skip_string(struct span text, size_t at)
{
	for (at++; at < text.len && text.ptr[at] != '"'; at++)
		if (text.ptr[at] == '\\')
			at++;
	return at;
}

/* Whether it is no deeper, and has no more values, than anybody needs. */
static bool
is_plain(struct span text)
{
	unsigned depth = 0, values = 1;
	for (size_t at = 0; at < text.len; at++) {
		char c = text.ptr[at];
		if (c == '"')
			at = skip_string(text, at);
		if (c == '[' || c == '{')
			depth++;
		if (c == '[' || c == '{' || c == ',')
			values++;
		if ((c == ']' || c == '}') && depth > 0)
			depth--;
		if (depth > DEPTH_MAX || values > VALUES_MAX)
			return false;
	}
	return true;
}

/* The text, its strings while they are read, and what they stand for. */
static bool
take_memory(struct admin_request *a, size_t text_bytes)
{
	size_t bytes = 3 * text_bytes + VALUES_MAX * VALUE_BYTES;
	if (!budget_take(&a->admin->budget, bytes, BUDGET_COMMON))
		return false;
	a->parsed_bytes = bytes;
	return true;
}

bool
admin_body_parse(struct admin_request *a, enum after *ret_after)
{
	struct span body = body_span(&a->x->body);
	const char *wrong = "The body is not a JSON object.";
	if (body.len == 0)
		return true;
	if (!is_plain(body)) {
		wrong = "The body has more than 1000 values, or is nested more "
			"than 8 deep.";
	} else if (!take_memory(a, body.len)) {
		*ret_after = admin_answer_problem(a, PROBLEM_OVERLOADED,
		    SPAN("The admin interface's own memory is used up by other "
			 "requests to it. Nothing was changed."));
		return false;
	} else {
		a->in = json_loadb(body.ptr, body.len,
		    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	}
	if (json_is_object(a->in))
		return true;
	*ret_after = admin_answer_problem(
	    a, PROBLEM_BAD_REQUEST, span_str(wrong));
	return false;
}

void
admin_body_end(struct admin_request *a)
{
	json_decref(a->in);
	budget_give(&a->admin->budget, a->parsed_bytes);
}
