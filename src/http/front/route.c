/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/test_build.h"
#include "http/front/route.h"

/* Takes a slash and the segment behind it. */
static struct span
take_segment(struct span *rest)
{
	*rest = span_from(*rest, 1);
	const char *slash =
	    rest->len ? memchr(rest->ptr, '/', rest->len) : NULL;
	size_t len = slash ? (size_t)(slash - rest->ptr) : rest->len;
	struct span segment = span_of(rest->ptr, len);
	*rest = span_from(*rest, len);
	return segment;
}

static bool
path_fits(const struct conf_route *route, struct span path)
{
	/* What is left begins with a slash; nothing is left of the root. */
	struct span rest = path.len > 1 ? path : SPAN("");

	for (size_t i = 0; i < route->n_segments; i++) {
		const struct conf_segment *want = &route->segments[i];
		if (want->kind == SEGMENT_REST)
			return true;
		if (rest.len == 0)
			return false;
		struct span segment = take_segment(&rest);
		if (want->kind == SEGMENT_TEXT && !span_eq(want->text, segment))
			return false;
	}
	return rest.len == 0;
}

/* The first route that serves that reading of a path. */
static const struct conf_route *
first_of(const struct conf *conf, struct span method, struct span path)
{
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_route *route = &conf->routes[i];
		if (conf_has_method(route, method) && path_fits(route, path))
			return route;
	}
	return NULL;
}

/* Whether two paths that a route serves give its variables the same values. */
static bool
same_variables(const struct conf_route *route, struct span a, struct span b)
{
	for (size_t i = 0; i < route->n_segments; i++) {
		enum segment_kind kind = route->segments[i].kind;
		if (kind == SEGMENT_REST)
			break;
		struct span one = take_segment(&a), other = take_segment(&b);
		if (kind == SEGMENT_ANY && !span_eq(one, other))
			return false;
	}
	return true;
}

bool
route_find(const struct conf *conf, struct span method,
    const struct request_target *target, const struct conf_route **ret_route)
{
	struct span path = target->spelling;
	const struct conf_route *found = first_of(conf, method, path);

	for (size_t i = 0; i < target->n_others; i++) {
		struct span other = target->others[i];
		const struct conf_route *route = first_of(conf, method, other);
		if (route == NULL)
			continue;
		bool keyed = found != NULL &&
		    (found->idempotency || route->idempotency);
		/* Its upstream could take it for the other one. */
		if (keyed && INVARIANT(one_reading) &&
		    (found != route || !same_variables(found, path, other)))
			return false;
		if (found == NULL || route < found) {
			found = route;
			path = other;
		}
	}
	*ret_route = found;
	return true;
}

/* Whether one of the readings of a path is the route's. */
static bool
any_fits(
    const struct conf_route *route, const struct request_target *target)
{
	if (path_fits(route, target->spelling))
		return true;
	for (size_t i = 0; i < target->n_others; i++)
		if (path_fits(route, target->others[i]))
			return true;
	return false;
}

const struct conf_route *
route_find_own(const struct conf *conf, struct span method,
    const struct request_target *target)
{
	/* HEAD is GET without the body (RFC 9110, section 9.3.2). */
	bool gets =
	    span_eq(method, SPAN("GET")) || span_eq(method, SPAN("HEAD"));
	for (size_t i = 0; i < conf->n_routes && gets; i++) {
		const struct conf_route *route = &conf->routes[i];
		if (route->status != NULL && any_fits(route->status, target))
			return route->status;
		if (route->policy != NULL && any_fits(route->policy, target))
			return route->policy;
		if (conf_has_method(route, method) && any_fits(route, target))
			break;
	}
	return NULL;
}

bool
route_variable(struct arena *arena, const struct conf_route *route,
    const struct request_target *target, struct span name,
    struct span *ret_value)
{
	bool whole = span_eq(name, SPAN("*"));
	int index = whole ? -1 : conf_variable(route, name);
	struct span segment = SPAN(""), rest = target->spelling;
	if (index < 0 && !whole)
		return false;
	/* The first reading of the path that the route serves. */
	for (size_t i = 0; i < target->n_others && !path_fits(route, rest);
	     i++)
		rest = target->others[i];
	for (int i = 0; i <= index; i++) {
		if (rest.len == 0)
			return false;
		segment = take_segment(&rest);
	}
	if (whole)
		segment = rest;
	*ret_value = segment;
	if (segment.len == 0 || memchr(segment.ptr, '\0', segment.len) == NULL)
		return true;
	/* A NUL stands for "%2F" (request_target.h). */
	char *out = arena_alloc(arena, segment.len);
	for (size_t i = 0; i < segment.len; i++)
		out[i] = segment.ptr[i] ? segment.ptr[i] : '/';
	*ret_value = span_of(out, segment.len);
	return true;
}
