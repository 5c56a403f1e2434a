/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/route.h"

static bool method_fits(const struct conf_route *route, struct span method);
static bool path_fits(const struct conf_route *route, struct span path);

const struct conf_route *
route_find(const struct conf *conf, struct span method,
    const struct request_target *target)
{
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_route *route = &conf->routes[i];
		if (method_fits(route, method) &&
		    (path_fits(route, target->spelling) ||
			path_fits(route, target->segments)))
			return route;
	}
	return NULL;
}

/* Methods are case-sensitive (RFC 9110, section 9.1). */
static bool
method_fits(const struct conf_route *route, struct span method)
{
	for (size_t i = 0; i < route->methods.count; i++) {
		if (span_eq(span_str(route->methods.list[i]), method))
			return true;
	}
	return route->methods.count == 0;
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
		rest = span_from(rest, 1);
		const char *slash = memchr(rest.ptr, '/', rest.len);
		size_t len = slash ? (size_t)(slash - rest.ptr) : rest.len;
		if (want->kind == SEGMENT_TEXT &&
		    !span_eq(want->text, span_of(rest.ptr, len)))
			return false;
		rest = span_from(rest, len);
	}
	return rest.len == 0;
}
