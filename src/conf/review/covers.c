/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/review/covers.h"

bool
covers_paths_of(const struct conf_route *a, const struct conf_route *b)
{
	for (size_t i = 0;; i++) {
		if (i < a->n_segments && a->segments[i].kind == SEGMENT_REST)
			return true;
		if (i == a->n_segments || i == b->n_segments)
			return a->n_segments == b->n_segments;
		const struct conf_segment *x = &a->segments[i];
		const struct conf_segment *y = &b->segments[i];
		if (y->kind == SEGMENT_REST)
			return false;
		if (x->kind == SEGMENT_TEXT &&
		    (y->kind != SEGMENT_TEXT || !span_eq(x->text, y->text)))
			return false;
	}
}

/* --- of two configurations --- */

/* A path, as its segments. */
struct path {
	struct span *segments;
	size_t count;
};

/* As front/route.c does it. */
static bool
fits(const struct conf_route *route, const struct path *path)
{
	for (size_t i = 0; i < route->n_segments; i++) {
		const struct conf_segment *want = &route->segments[i];
		if (want->kind == SEGMENT_REST)
			return true;
		if (i == path->count ||
		    (want->kind == SEGMENT_TEXT &&
			!span_eq(want->text, path->segments[i])))
			return false;
	}
	return path->count == route->n_segments;
}

static bool
serves(const struct conf *conf, const struct conf_route *route,
    const char *method, const struct path *path)
{
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf_has_method(&conf->routes[i], span_str(method)) &&
		    fits(&conf->routes[i], path))
			return &conf->routes[i] == route;
	return false;
}

/* The text that the route has there, or false. */
static bool
text_at(const struct conf_route *route, size_t i, struct span *ret_text)
{
	if (i >= route->n_segments || route->segments[i].kind != SEGMENT_TEXT)
		return false;
	*ret_text = route->segments[i].text;
	return true;
}

static size_t
most_segments(const struct conf *conf)
{
	size_t most = 0;
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].n_segments > most)
			most = conf->routes[i].n_segments;
	return most;
}

/*
 * A path of each length is tried that fits both, with a value for variables
 * that no route names: what routes name has a pair of its own.
 */
bool
covers_same(const struct conf *one, const struct conf_route *a,
    const struct conf *other, const struct conf_route *b, const char *method)
{
	struct span text, text_of_b;
	if (!conf_has_method(a, span_str(method)) ||
	    !conf_has_method(b, span_str(method)))
		return false;
	/* Of most pairs a text says at once that no path fits both. */
	for (size_t i = 0; i < a->n_segments; i++)
		if (text_at(a, i, &text) && text_at(b, i, &text_of_b) &&
		    !span_eq(text, text_of_b))
			return false;
	size_t most = most_segments(one) + most_segments(other) + 1;
	struct path path = {mem_zero(most * sizeof *path.segments), 0};
	bool same = false;
	for (size_t i = 0; i < most; i++)
		if (!text_at(a, i, &path.segments[i]) &&
		    !text_at(b, i, &path.segments[i]))
			path.segments[i] = SPAN("\x01");
	for (; path.count <= most && !same; path.count++)
		same = fits(a, &path) && fits(b, &path) &&
		    serves(one, a, method, &path) &&
		    serves(other, b, method, &path);
	free(path.segments);
	return same;
}
