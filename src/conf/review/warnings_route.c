/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/jsonc/spots.h"
#include "conf/name.h"
#include "conf/nearest.h"
#include "conf/review/covers.h"
#include "conf/review/warnings_private.h"
#include "conf/words.h"

/* --- routes that hide others --- */

static void
look_at_hidden(const struct looked_at *at)
{
	const struct conf *conf = at->conf;
	char *names = NULL;
	bool several = false;
	const char *kind = "", *lost = "own \"idempotency\" is not used then";
	for (size_t i = at->route->index + 1; i < conf->n_routes; i++) {
		const struct conf_route *other = &conf->routes[i];
		if (other->idempotency == NULL ||
		    !covers_paths_of(at->route, other) ||
		    !conf_shares_method(at->route, other))
			continue;
		several = names != NULL;
		char *longer = mem_printf("%s%s\"%s\"", names ? names : "",
		    names ? ", " : "", other->name);
		free(names);
		names = longer;
	}
	if (at->route->idempotency == NULL) {
		kind = ", without \"idempotency\",";
		lost = "keys nobody looks at then";
	} else if (at->route->observes) {
		kind = ", which only observes,";
		lost = "keys promise nothing then";
	}
	if (names != NULL)
		warning_add(at->complaints,
		    mem_printf("/routes/%u", at->route->index), "this route%s "
		    "hides the route%s %s behind it, whose %s: put %s first, "
		    "or remove what is for the same requests", kind,
		    several ? "s" : "", names, lost,
		    several ? "those" : "that one");
	free(names);
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
		if (conf_has_method(r, SPAN("GET")) && covers_paths_of(r, own))
			return "path";
	}
	return NULL;
}

static void
look_at_own(const struct looked_at *at, const struct conf_route *own,
    const char *member)
{
	const struct conf_route *hider;
	const char *hides = hider_of(at->conf, own, &hider);
	if (hides != NULL)
		warning_at(at, member, "\"%s\" of the route \"%s\", which "
		    "comes first, serves this path, and nobody is told "
		    "anything here: %sname another path", hides, hider->name,
		    hider != at->route ? "put this route first, or " : "");
}

/* --- its path --- */

static void
look_at_path(const struct looked_at *at)
{
	/* What nobody sees, be it a space or wider, thinner or none. */
	static const char *const unseen[] = {" ", "\xc2\xa0", "\xc2\xad",
	    "\xe2\x80\x89", "\xe2\x80\x8b", "\xe2\x80\xaf",
	    "\xe2\x81\xa0", "\xe3\x80\x80", "\xef\xbb\xbf", NULL};
	const struct conf_segment *segments = at->route->segments;
	const char *const *found = unseen;
	char hex[10];
	while (*found != NULL && strstr(at->route->path, *found) == NULL)
		found++;
	if (*found != NULL) {
		for (size_t k = 0; (*found)[k] != '\0'; k++)
			snprintf(
			    hex + 3 * k, 4, "%%%02X", (uint8_t)(*found)[k]);
		warning_at(at, "path", "there is a space in it, or what looks "
		    "like one or like nothing: only requests that have %s "
		    "there come here", hex);
	}
	for (size_t i = 0; i < at->route->n_segments; i++) {
		struct span text = segments[i].text;
		struct span name = name_as_others_do(text);
		bool repeated = false;
		for (size_t k = 0; k < i; k++)
			repeated |= segments[k].kind == SEGMENT_ANY &&
			    span_eq(segments[k].text, text);
		if (segments[i].kind == SEGMENT_TEXT && name.len > 0)
			warning_at(at, "path", "\"%.*s\" fits only itself; a "
			    "variable is {%.*s}", SPAN_FMT(text),
			    SPAN_FMT(name));
		if (segments[i].kind == SEGMENT_ANY && repeated)
			warning_at(at, "path", "{%.*s} appears twice, and only "
			    "the first one counts where it is named: give each "
			    "a name of its own", SPAN_FMT(text));
	}
}

/* --- its methods, and all of it --- */

/* The file names it in a list, or alone; the caller frees it. */
static char *
method_pointer(const struct looked_at *at, size_t i)
{
	char *pointer =
	    mem_printf("/routes/%u/methods/%zu", at->route->index, i);
	if (!spots_has(at->conf->spots, pointer))
		*strrchr(pointer, '/') = '\0';
	return pointer;
}

void
warnings_route_find(const struct looked_at *at)
{
	static const char usual[] =
	    "GET HEAD POST PUT PATCH DELETE OPTIONS QUERY";
	const struct conf_route *route = at->route;
	bool keyed = route->idempotency != NULL;
	look_at_path(at);
	for (size_t i = 0; i < route->methods.count; i++) {
		const char *method = route->methods.list[i];
		bool is_usual = words_index(usual, method) >= 0;
		struct span list = span_str(usual), one, found = {NULL, 0};
		if (!is_usual) {
			struct nearest nearest = nearest_to(span_str(method));
			while (span_next(&list, ' ', &one))
				nearest_try(&nearest, one);
			found = nearest.found;
		}
#define WARN_METHOD(when, ...)                                              \
	if (when)                                                           \
		warning_add(                                                \
		    at->complaints, method_pointer(at, i), __VA_ARGS__);
#include "tbl/warnings.h"
#undef WARN_METHOD
	}
	if (route->status != NULL)
		look_at_own(at, route->status, "status_path");
	if (route->policy != NULL)
		look_at_own(at, route->policy, "policy_path");
	look_at_hidden(at);
}
