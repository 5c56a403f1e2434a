/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "jsonc/spots.h"
#include "review/covers.h"
#include "review/warning_private.h"
#include "review/warnings_routes_private.h"

/* --- routes that hide others --- */

static void
warn_of_hidden(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *route)
{
	for (size_t i = route->index + 1; i < conf->n_routes; i++) {
		const struct conf_route *other = &conf->routes[i];
		if (other->idempotency == NULL ||
		    !covers_paths_of(route, other) ||
		    !covers_some_method_of(route, other))
			continue;
		char *pointer = mem_printf("/routes/%u", route->index);
		char *words = mem_printf("this route, without "
		    "\"idempotency\", hides the route \"%s\" behind it, whose "
		    "keys nobody looks at then: put that one first",
		    other->name);
		warning_add(complaints, pointer, words);
		free(pointer);
		free(words);
	}
}

/* --- paths of the gateway's own that requests do not reach --- */

/* The name of what serves the path before it does, and its route's. */
static const char *
hider_of(const struct conf *conf, const struct conf_route *own,
    const struct conf_route **ret_route)
{
	for (size_t i = 0; i <= own->index; i++) {
		const struct conf_route *r = *ret_route = &conf->routes[i];
		if (r->status == own)
			return NULL;
		if (r->status != NULL && covers_paths_of(r->status, own))
			return "status_path";
		if (r->policy == own)
			return NULL;
		if (r->policy != NULL && covers_paths_of(r->policy, own))
			return "policy_path";
		if (covers_method(r, "GET") && covers_paths_of(r, own))
			return "path";
	}
	return NULL;
}

static void
warn_of_own(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *own, const char *member)
{
	const struct conf_route *hider;
	const char *hides = own != NULL ? hider_of(conf, own, &hider) : NULL;
	if (hides == NULL)
		return;
	char *pointer = mem_printf("/routes/%u/%s", own->index, member);
	char *words = mem_printf("\"%s\" of the route \"%s\", which comes "
	    "first, serves this path: nobody is told anything here",
	    hides, hider->name);
	warning_add(complaints, pointer, words);
	free(pointer);
	free(words);
}

/* "/v1/:id" of other programs fits nothing but ":id". */
static void
warn_of_colons(struct complaints *complaints, const struct conf_route *route)
{
	for (size_t i = 0; i < route->n_segments; i++) {
		struct span text = route->segments[i].text;
		if (route->segments[i].kind != SEGMENT_TEXT || text.len < 2 ||
		    text.ptr[0] != ':')
			continue;
		char *pointer = mem_printf("/routes/%u/path", route->index);
		char *words = mem_printf("\"%.*s\" fits only itself; a "
		    "variable is {%.*s}", SPAN_FMT(text),
		    SPAN_FMT(span_from(text, 1)));
		warning_add(complaints, pointer, words);
		free(pointer);
		free(words);
	}
}

/* Where the file names it: in a list, or alone. */
static char *
methods_pointer(
    const struct conf *conf, const struct conf_route *route, size_t index)
{
	char *all = mem_printf("/routes/%u/methods", route->index);
	char *one = mem_printf("%s/%zu", all, index);
	char *found = spots_has(conf->spots, one) ? one : all;
	free(found == one ? all : one);
	return found;
}

/* "*" and "POTS" are methods, too, as far as HTTP goes. */
static void
warn_of_methods(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *route)
{
	static const char usual[] =
	    " GET HEAD POST PUT PATCH DELETE OPTIONS QUERY ";
	for (size_t i = 0; i < route->methods.count; i++) {
		char *word = mem_printf(" %s ", route->methods.list[i]);
		if (strstr(usual, word) == NULL) {
			char *pointer = methods_pointer(conf, route, i);
			warning_add(complaints, pointer,
			    "it is no usual method, and others are not served "
			    "here; without \"methods\" the usual ones are");
			free(pointer);
		}
		free(word);
	}
}

void
warnings_routes_find(const struct conf *conf, const struct conf_route *route,
    struct complaints *complaints)
{
	warn_of_colons(complaints, route);
	warn_of_methods(complaints, conf, route);
	warn_of_own(complaints, conf, route->status, "status_path");
	warn_of_own(complaints, conf, route->policy, "policy_path");
	if (route->idempotency == NULL)
		warn_of_hidden(complaints, conf, route);
}
