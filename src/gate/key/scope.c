/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/json.h"
#include "base/test_build.h"
#include "conf/basic_user.h"
#include "conf/token/token.h"
#include "gate/key/scope.h"
#include "http/front/route.h"

/* A bearer token that is there has to be good, whatever else there is. */
static enum scope_verdict
find_claim(const struct conf_scope *scope, const struct scope_request *request,
    struct span value, struct span *ret_claim)
{
	const struct token_rules rules = {
	    scope->jwt, scope->issuer, scope->audience};
	struct span token;
	struct token_refusal refusal;
	if (!field_credentials(value, SPAN("Bearer"), &token))
		return SCOPE_FOUND;
	/* The decoded text is as long as the token. */
	struct arena *scratch = arena_new();
	bool good = token_set_verify(scratch, scope->set, &rules, token,
	    request->now_ms, ret_claim, &refusal);
	if (good) {
		*ret_claim = arena_dup(request->arena, *ret_claim);
	} else {
		refusal.words =
		    arena_dup(request->arena, span_str(refusal.words)).ptr;
		*request->ret_refusal = refusal;
	}
	arena_free(&scratch);
	if (good)
		return SCOPE_FOUND;
	return refusal.unverified ? SCOPE_UNVERIFIED : SCOPE_INVALID;
}

/* Finds one value, empty where there is none. */
static enum scope_verdict
find_value(const struct conf_scope *scope, const struct scope_request *request,
    struct span *ret_value)
{
	*ret_value = SPAN("");
	if (scope->kind == SCOPE_PATH) {
		(void)!route_variable(request->arena, request->route,
		    request->target, span_str(scope->path), ret_value);
		return SCOPE_FOUND;
	}
	if (scope->kind == SCOPE_CERTIFICATE) {
		*ret_value = scope->certificate == CERTIFICATE_SUBJECT
		    ? request->certificate->subject
		    : request->certificate->fingerprint;
		return SCOPE_FOUND;
	}
	struct span name = span_str(scopes_header(scope)), token;
	size_t at = 0;
	const struct field *f = fields_next(request->fields, name, &at);
	if (f == NULL)
		return SCOPE_FOUND;
	if (fields_next(request->fields, name, &at) && INVARIANT(one_scope))
		return SCOPE_REPEATED;
	if (scope->kind == SCOPE_JWT)
		return find_claim(scope, request, f->value, ret_value);
	/* Basic is of RFC 7617. */
	if (scope->kind == SCOPE_HEADER)
		*ret_value = f->value;
	else if (field_credentials(f->value, SPAN("Basic"), &token) &&
	    !basic_user_read(request->arena, token, ret_value))
		return SCOPE_MALFORMED;
	return SCOPE_FOUND;
}

enum scope_verdict
scope_find(const struct conf_idempotency *policy,
    const struct scope_request *request, struct span *ret_values)
{
	size_t count = policy->scope.count;
	bool named = count == 0;
	enum scope_verdict verdict = SCOPE_FOUND;
	struct span *values =
	    arena_alloc(request->arena, (count + 1) * sizeof *values);
	for (size_t i = 0; i < count; i++) {
		enum scope_verdict one =
		    find_value(&policy->scope.list[i], request, &values[i]);
		/* Of several faults the last one in the enum is said. */
		if (one > verdict)
			verdict = one;
		named |= values[i].len > 0;
	}
	if (verdict != SCOPE_FOUND)
		return verdict;
	if (!named && INVARIANT(scope_needed))
		return SCOPE_MISSING;
	memcpy(ret_values, values, count * sizeof *values);
	return SCOPE_FOUND;
}

/* --- by hand --- */

static bool
looks_like_number(struct span text)
{
	struct arena *arena = arena_new();
	const struct json *json = json_read(arena, text);
	struct span spelling;
	bool number = json != NULL && json_spelling(json, &spelling) &&
	    span_eq(spelling, text);
	arena_free(&arena);
	return number;
}

bool
scope_by_hand(struct arena *arena, const struct conf_idempotency *policy,
    const struct fields *named, bool number, struct span *ret_values)
{
	const struct conf_scopes *scopes = &policy->scope;
	const struct field *by = fields_first(named, SPAN("jwt.iss"));
	bool valued = scopes->count == 0, issued = false;
	size_t used = 0;
	for (size_t i = 0; i < scopes->count; i++) {
		const struct conf_scope *scope = &scopes->list[i];
		char *name = scopes_name(scope);
		const struct field *f = fields_first(named, span_str(name));
		struct span value = f != NULL ? f->value : SPAN("");
		struct span issuer =
		    by != NULL ? by->value : span_str(scope->issuer);
		free(name);
		used += f != NULL;
		/* A claim has the value that a token with it would have. */
		if (scope->kind == SCOPE_JWT && value.len > 0)
			value = token_value(arena,
			    issuer.len > 0 ? &issuer : NULL,
			    number && looks_like_number(value), value);
		ret_values[i] = value;
		valued |= value.len > 0;
		issued |= scope->kind == SCOPE_JWT &&
		    strcmp(scope->jwt, "iss") != 0;
	}
	/* An issuer is no scope by itself, but that of a token. */
	used += issued && by != NULL;
	return used == named->count && valued;
}

/* --- in words --- */

struct span
scope_wanted(struct arena *arena, const struct conf_scopes *scopes)
{
	struct span list = SPAN("");
	for (size_t i = 0; i < scopes->count; i++) {
		const struct conf_scope *scope = &scopes->list[i];
		struct span one = SPAN("a client certificate");
		if (scope->kind == SCOPE_HEADER)
			one = arena_printf(
			    arena, "the header %s", scope->header);
		else if (scope->kind == SCOPE_PATH)
			one = arena_printf(
			    arena, "{%s} of the path", scope->path);
		else if (scope->kind == SCOPE_BASIC)
			one = SPAN("the user of Basic authorization");
		else if (scope->kind == SCOPE_JWT)
			one = SPAN("a bearer token");
		list = arena_printf(arena, "%.*s%s%.*s", SPAN_FMT(list),
		    i == 0 ? "" : i + 1 < scopes->count ? ", " : " or ",
		    SPAN_FMT(one));
	}
	return list;
}
