/* SPDX-License-Identifier: BSD-2-Clause */
#include <strings.h>

#include "conf/conf.h"
#include "conf/token/token_set.h"

const char *const conf_route_problems[] = {
#define ROUTE_PROBLEM(name, type) type,
#include "tbl/route_problems.h"
#undef ROUTE_PROBLEM
};

const char conf_tls_priorities[] =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:"
    "-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:"
    "-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM:"
    "-MAC-ALL:+AEAD";

int
conf_variable(const struct conf_route *route, struct span name)
{
	for (size_t i = 0; i < route->n_segments; i++)
		if (route->segments[i].kind == SEGMENT_ANY &&
		    span_eq(route->segments[i].text, name))
			return (int)i;
	return -1;
}

/* Methods are case-sensitive (RFC 9110, section 9.1). */
bool
conf_has_method(const struct conf_route *route, struct span method)
{
	for (size_t i = 0; i < route->methods.count; i++)
		if (span_eq(span_str(route->methods.list[i]), method))
			return true;
	return route->methods.count == 0;
}

bool
conf_shares_method(const struct conf_route *a, const struct conf_route *b)
{
	for (size_t i = 0; i < b->methods.count; i++)
		if (conf_has_method(a, span_str(b->methods.list[i])))
			return true;
	return b->methods.count == 0;
}

bool
conf_shares_target(const struct conf_upstream *a, const struct conf_upstream *b)
{
	for (size_t i = 0; i < a->n_targets; i++)
		for (size_t k = 0; k < b->n_targets; k++)
			if (!strcmp(a->targets[i].url, b->targets[k].url))
				return true;
	return false;
}

const struct conf_header *
conf_source_header(const struct conf_source *source, const char *name)
{
	for (size_t i = 0; i < source->request.n_headers; i++)
		if (!strcasecmp(source->request.headers[i].name, name))
			return &source->request.headers[i];
	return NULL;
}

char *
conf_usual_dead_letters(struct arena *arena, const struct conf_source *source)
{
	if (source->broker->kind == BROKER_KAFKA)
		return NULL;
	struct span name = source->broker->kind == BROKER_POSTGRES
	    ? arena_printf(arena, "%s_dead", source->table)
	    : arena_printf(arena, "%s:dead", source->stream);
	return arena_str(arena, name);
}

uint8_t
conf_usual_outcome(const uint8_t outcomes[100])
{
	unsigned counts[DISPOSITION_UNKNOWN + 1] = {0};
	uint8_t usual = DISPOSITION_STORE;
	for (unsigned i = 0; i < 100; i++)
		counts[outcomes[i]]++;
	for (uint8_t i = 0; i <= DISPOSITION_UNKNOWN; i++)
		if (counts[i] > counts[usual])
			usual = i;
	return usual;
}

int64_t
conf_longest_wait_ms(const struct conf_store *store)
{
	return (2 * store->redis.timeout_ms + 4) / 5;
}

const struct conf_scope *
conf_next_keys(const struct conf *conf, struct conf_keys_at *at)
{
	for (; at->route < conf->n_routes; at->route++, at->scope = 0) {
		const struct conf_idempotency *policy =
		    conf->routes[at->route].idempotency;
		while (policy != NULL && at->scope < policy->scope.count) {
			const struct conf_scope *scope =
			    &policy->scope.list[at->scope++];
			if (scope->set != NULL)
				return scope;
		}
	}
	return NULL;
}

void
conf_share_keys(const struct conf *to, const struct conf *from)
{
	struct conf_keys_at at = {0, 0};
	const struct conf_scope *one, *other;
	while ((one = conf_next_keys(to, &at)) != NULL) {
		struct conf_keys_at of = {0, 0};
		do
			other = conf_next_keys(from, &of);
		while (other != NULL &&
		    !token_set_share(one->set, other->set, to == from));
	}
}

const struct conf *
conf_ref(const struct conf *conf)
{
	/* Only the count changes, and only here and in conf_unref. */
	struct conf *counted = (struct conf *)(uintptr_t)conf;
	atomic_fetch_add_explicit(&counted->refs, 1, memory_order_relaxed);
	return conf;
}

void
conf_unref(const struct conf **conf)
{
	struct conf *counted = (struct conf *)(uintptr_t)*conf;
	*conf = NULL;
	if (counted != NULL && atomic_fetch_sub_explicit(&counted->refs, 1,
				   memory_order_acq_rel) == 1)
		counted->destroy(counted);
}
