/* SPDX-License-Identifier: BSD-2-Clause */
#include "gate/cors.h"
#include "http/front/route.h"

enum { MAX_AGE_S = 3600 };

bool
cors_applies(const struct conf_route *route)
{
	return route != NULL && !route->observes &&
	    route->idempotency != NULL &&
	    route->idempotency->cors_origins.count > 0;
}

/* --- a question beforehand --- */

struct answer *
cors_preflight(struct arena *arena, const struct conf *conf, struct span method,
    const struct request_target *target, const struct fields *fields,
    const struct conf_route **ret_route)
{
	const struct field *asked;
	if (!span_eq(method, SPAN("OPTIONS")) ||
	    (asked = fields_first(
		 fields, SPAN("Access-Control-Request-Method"))) == NULL ||
	    fields_first(fields, SPAN("Origin")) == NULL)
		return NULL;
	const struct conf_route *route =
	    route_find_own(conf, asked->value, target);
	if ((route == NULL &&
		!route_find(conf, asked->value, target, &route)) ||
	    !cors_applies(route))
		return NULL;
	*ret_route = route;
	asked = fields_first(fields, SPAN("Access-Control-Request-Headers"));
	long long age_ms = route->idempotency->cors_max_age_ms;
	/* A path of its own has none: it is asked by GET. */
	struct span methods =
	    route->kind == ROUTE_UPSTREAM ? SPAN("") : SPAN("GET");
	struct field list[3];
	struct fields out = {list, 0};
	for (size_t i = 0; i < route->methods.count; i++)
		methods = arena_printf(arena, "%.*s%s%s", SPAN_FMT(methods),
		    i > 0 ? ", " : "", route->methods.list[i]);
	fields_add(&out, SPAN("Access-Control-Allow-Methods"), methods);
	if (asked != NULL)
		fields_add(&out, SPAN("Access-Control-Allow-Headers"),
		    asked->value);
	fields_add(&out, SPAN("Access-Control-Max-Age"),
	    arena_printf(arena, "%lld",
		age_ms > 0 ? age_ms / 1000 : MAX_AGE_S));
	return answer_new(204, &out, NULL, SPAN(""));
}

/* --- who may read an answer --- */

void
cors_put(struct arena *arena, const struct conf_idempotency *policy,
    const struct fields *request, struct fields *out)
{
	const struct strings *origins = &policy->cors_origins;
	const struct field *origin = fields_first(request, SPAN("Origin"));
	bool all = false, named = false;
	for (size_t i = 0; i < origins->count; i++) {
		struct span one = span_str(origins->list[i]);
		all |= span_eq(one, SPAN("*"));
		named |= origin != NULL && span_eq(one, origin->value);
	}
	if (!all)
		fields_add(out, SPAN("Vary"), SPAN("Origin"));
	if (origin == NULL || (!all && !named))
		return;
	fields_add(out, SPAN("Access-Control-Allow-Origin"),
	    all ? SPAN("*") : origin->value);
	if (!all)
		fields_add(out, SPAN("Access-Control-Allow-Credentials"),
		    SPAN("true"));
	fields_add(out, SPAN("Access-Control-Expose-Headers"),
	    arena_printf(arena, "%s%sRetry-After, X-Request-Id",
		policy->replay_header,
		policy->replay_header[0] != '\0' ? ", " : ""));
}

struct answer *
cors_strip(struct arena *arena, struct answer *answer)
{
	const struct fields *in = &answer->fields;
	struct fields out = fields_new(arena, in->count);
	for (size_t i = 0; i < in->count; i++) {
		struct span name = in->list[i].name;
		if (!span_ieq(name, SPAN("Access-Control-Allow-Origin")) &&
		    !span_ieq(name, SPAN("Access-Control-Allow-Credentials")))
			out.list[out.count++] = in->list[i];
	}
	return out.count < in->count ? answer_with_fields(answer, &out)
				     : answer;
}
