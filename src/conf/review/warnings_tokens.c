/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <strings.h>

#include "base/field.h"
#include "base/mem.h"
#include "conf/review/warning_private.h"
#include "conf/review/warnings_tokens_private.h"
#include "conf/source_asks.h"
#include "conf/token/token_file.h"

/*
 * As of certificates (load/certificates.h); but what lives for an hour is
 * renewed by a program, which is late when a quarter of that is left.
 */
static const int64_t soon_ms = INT64_C(14) * 24 * 3600 * 1000;

/* Why a token is refused at that time, NULL: it is not; the caller frees it. */
static char *
refusal(const struct conf_scope *scope, struct span token, int64_t now_ms)
{
	const struct token_rules rules = {
	    scope->jwt, scope->issuer, scope->audience};
	struct arena *arena = arena_new();
	struct span claim;
	const char *wrong = token_file_verify(
	    arena, scope->file, &rules, token, now_ms, &claim);
	char *copy = mem_text(wrong);
	arena_free(&arena);
	return copy;
}

/* How long before its end a token is warned of. */
static int64_t
soon_of(struct span token)
{
	struct arena *arena = arena_new();
	int64_t lifetime = token_lifetime_ms(arena, token);
	arena_free(&arena);
	return lifetime > 0 && lifetime / 4 < soon_ms ? lifetime / 4 : soon_ms;
}

/* What is to be said of it; NULL: nothing. */
static char *
words_of(const struct conf_route *route, const struct conf_scope *scope,
    struct span token, int64_t now_ms)
{
	char *wrong = refusal(scope, token, now_ms);
	char *words = wrong == NULL ? NULL
	    : mem_printf("the route \"%s\" refuses this token, and "
		"the source stands: %s", route->name, wrong);
	free(wrong);
	if (words != NULL)
		return words;
	int64_t soon = soon_of(token);
	char *later = refusal(scope, token, now_ms + soon);
	bool ends = later != NULL;
	free(later);
	return !ends ? NULL
	    : mem_printf("%s, and the source stands then, as the route \"%s\" "
		  "refuses it: name one in a file that is renewed, and reload",
		  soon < soon_ms
		      ? "this token expires, a quarter of its time is left"
		      : "this token expires within 14 days",
		  route->name);
}

/* In which no tenant is found, whatever else it is. */
static const char *
scheme_of(const struct conf_scope *scope)
{
	return scope->kind == SCOPE_JWT ? "Bearer"
	    : scope->kind == SCOPE_BASIC ? "Basic" : NULL;
}

/* NULL: nothing is to be said of the value. */
static char *
words_of_value(const struct conf_route *route, const struct conf_scope *scope,
    struct span value, int64_t now_ms)
{
	struct span token;
	const char *scheme = scheme_of(scope);
	if (scheme == NULL)
		return NULL;
	if (field_credentials(value, span_str(scheme), &token))
		return scope->kind == SCOPE_JWT
		    ? words_of(route, scope, token, now_ms)
		    : NULL;
	return route->idempotency->scope.count > 1 ? NULL
	    : mem_printf("it must begin with \"%s \": the route \"%s\" finds "
		  "no tenant in it, and the source stands",
		  scheme, route->name);
}

static void
warn_of_scope(struct complaints *complaints, const struct conf_source *source,
    const struct conf_route *route, const struct conf_scope *scope,
    int64_t now_ms)
{
	const char *header = scopes_header(scope);
	struct span value;
	if (header == NULL || !source_asks_header(source, header, &value))
		return;
	char *words = words_of_value(route, scope, value, now_ms);
	if (words == NULL)
		return;
	char *pointer = mem_printf(
	    "/sources/%s/request/headers/%s", source->name, header);
	warning_add(complaints, pointer, words);
	free(pointer);
	free(words);
}

/* How many headers the source has that may name the tenant, each alone. */
static size_t
count_names(const struct conf_source *source, const struct conf_scopes *scope)
{
	size_t count = 0;
	bool kinds = false;
	for (size_t i = 0; i < source->request.n_headers; i++) {
		const char *name = source->request.headers[i].name;
		bool names = false;
		for (size_t k = 0; k < scope->count; k++) {
			const char *header = scopes_header(&scope->list[k]);
			kinds |= scope->list[k].kind != SCOPE_HEADER;
			names |= header != NULL && !strcasecmp(header, name);
		}
		count += names;
	}
	return kinds ? count : 0;
}

static void
warn_of_names(struct complaints *complaints, const struct conf_source *source,
    const struct conf_route *route)
{
	if (count_names(source, &route->idempotency->scope) < 2)
		return;
	char *pointer =
	    mem_printf("/sources/%s/request/headers", source->name);
	char *words = mem_printf("several of these may name the tenant of the "
	    "route \"%s\", and together they name another one than a client "
	    "that sends one of them, whose same key is executed again: leave "
	    "the one that this tenant's clients send", route->name);
	warning_add(complaints, pointer, words);
	free(pointer);
	free(words);
}

void
warnings_tokens_find(
    const struct conf *conf, int64_t now_ms, struct complaints *complaints)
{
	for (size_t i = 0; i < conf->n_sources; i++) {
		const struct conf_source *source = &conf->sources[i];
		const struct conf_route *route;
		size_t at = 0;
		while ((route = source_asks_route(conf, source, &at)) != NULL) {
			const struct conf_scopes *scope =
			    &route->idempotency->scope;
			warn_of_names(complaints, source, route);
			for (size_t k = 0; k < scope->count; k++)
				warn_of_scope(complaints, source, route,
				    &scope->list[k], now_ms);
		}
	}
}
