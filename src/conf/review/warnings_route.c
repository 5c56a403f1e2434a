/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/jsonc/spots.h"
#include "conf/nearest.h"
#include "conf/review/covers.h"
#include "conf/review/warnings_route_private.h"

/* --- routes that hide others --- */

static bool
has_methods_of(const struct conf_route *a, const struct conf_route *b)
{
	for (size_t i = 0; i < b->methods.count; i++)
		if (!covers_method(a, b->methods.list[i]))
			return false;
	return b->methods.count > 0 || a->methods.count == 0;
}

/* Whichever comes first, the other is never reached. */
static bool
is_twin(const struct conf_route *a, const struct conf_route *b)
{
	return covers_paths_of(a, b) && covers_paths_of(b, a) &&
	    has_methods_of(a, b) && has_methods_of(b, a);
}

/*
 * The names of those of which it is the same, or of the others that it hides,
 * as `"a", "b" and "c"`; the caller frees it.
 */
static char *
names_of_hidden(const struct conf *conf, const struct conf_route *route,
    bool same, size_t *ret_count)
{
	char *names = mem_text("");
	size_t count = 0, last = 0; /* where the last name begins */
	for (size_t i = route->index + 1; i < conf->n_routes; i++) {
		const struct conf_route *other = &conf->routes[i];
		if (other->idempotency == NULL ||
		    !covers_paths_of(route, other) ||
		    !covers_some_method_of(route, other) ||
		    is_twin(other, route) != same)
			continue;
		size_t len = strlen(names);
		char *longer = mem_printf("%s%s\"%s\"", names,
		    count > 0 ? ", " : "", other->name);
		free(names);
		names = longer;
		last = len;
		count++;
	}
	*ret_count = count;
	if (count < 2)
		return names;
	char *joined = mem_printf(
	    "%.*s and %s", (int)last, names, names + last + 2);
	free(names);
	return joined;
}

static void
look_at_hidden(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *route)
{
	size_t count;
	char *names = names_of_hidden(conf, route, false, &count);
	bool several = count > 1;
	const char *kind = "", *lost = "own \"idempotency\" is not used then";
	if (route->idempotency == NULL) {
		kind = ", without \"idempotency\",";
		lost = "keys nobody looks at then";
	} else if (route->observes) {
		kind = ", which only observes,";
		lost = "keys promise nothing then";
	}
	if (count > 0)
		warning_add(complaints, mem_printf("/routes/%u", route->index),
		    "this route%s hides the route%s %s behind it, whose %s: "
		    "put %s first", kind, several ? "s" : "", names, lost,
		    several ? "those" : "that one");
	free(names);
	names = names_of_hidden(conf, route, true, &count);
	several = count > 1;
	if (count > 0)
		warning_add(complaints, mem_printf("/routes/%u", route->index),
		    "the route%s %s behind it %s for the same requests, and "
		    "none comes there: remove %s", several ? "s" : "", names,
		    several ? "are" : "is", several ? "all but one" : "one");
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
		if (covers_method(r, "GET") && covers_paths_of(r, own))
			return "path";
	}
	return NULL;
}

static void
look_at_own(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *own, const char *member)
{
	const struct conf_route *hider;
	const char *hides = own != NULL ? hider_of(conf, own, &hider) : NULL;
	if (hides != NULL)
		warning_add(complaints,
		    mem_printf("/routes/%u/%s", own->index, member),
		    "\"%s\" of the route \"%s\", which comes first, serves "
		    "this path, and nobody is told anything here: %sname "
		    "another path", hides, hider->name,
		    hider->index != own->index
			? "put this route first, or "
			: "");
}

/* --- its path --- */

/* The name in ":id", "<id>" or "<int:id>" of other programs; empty: none. */
static struct span
variable_of_others(struct span text)
{
	bool angles = text.len > 2 && text.ptr[0] == '<' &&
	    text.ptr[text.len - 1] == '>';
	if (!angles)
		return text.len > 1 && text.ptr[0] == ':' ? span_from(text, 1)
							  : SPAN("");
	struct span name = span_of(text.ptr + 1, text.len - 2);
	const char *colon = memchr(name.ptr, ':', name.len);
	return colon != NULL
	    ? span_from(name, (size_t)(colon - name.ptr) + 1)
	    : name;
}

/* What nobody sees in a path, be it a space or wider, thinner or none. */
static void
look_at_unseen(struct complaints *complaints, const struct conf_route *route)
{
	static const char *const unseen[] = {" ", "\xc2\xa0", "\xc2\xad",
	    "\xe2\x80\x80", "\xe2\x80\x81", "\xe2\x80\x82", "\xe2\x80\x83",
	    "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86", "\xe2\x80\x87",
	    "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\x8b",
	    "\xe2\x80\x8c", "\xe2\x80\x8d", "\xe2\x80\x8e", "\xe2\x80\x8f",
	    "\xe2\x80\xaf", "\xe2\x81\xa0", "\xe3\x80\x80", "\xef\xbb\xbf"};
	for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++) {
		const char *c = unseen[i];
		char hex[10];
		if (strstr(route->path, c) == NULL)
			continue;
		for (size_t k = 0; c[k] != '\0'; k++)
			snprintf(hex + 3 * k, 4, "%%%02X", (uint8_t)c[k]);
		warning_add(complaints,
		    mem_printf("/routes/%u/path", route->index), "there is a "
		    "space in it, or what looks like one or like nothing: only "
		    "requests that have %s there come here", hex);
		return;
	}
}

static void
look_at_path(struct complaints *complaints, const struct conf_route *route)
{
	look_at_unseen(complaints, route);
	for (size_t i = 0; i < route->n_segments; i++) {
		const struct conf_segment *segment = &route->segments[i];
		struct span text = segment->text;
		struct span name = variable_of_others(text);
		bool repeated = false;
		for (size_t k = 0; k < i; k++)
			repeated |= route->segments[k].kind == SEGMENT_ANY &&
			    span_eq(route->segments[k].text, text);
		if (segment->kind == SEGMENT_TEXT && name.len > 0)
			warning_add(complaints,
			    mem_printf("/routes/%u/path", route->index),
			    "\"%.*s\" fits only itself; a variable is {%.*s}",
			    SPAN_FMT(text), SPAN_FMT(name));
		if (segment->kind == SEGMENT_ANY && repeated)
			warning_add(complaints,
			    mem_printf("/routes/%u/path", route->index),
			    "{%.*s} appears twice, and only the first one "
			    "counts where it is named: give each a name of its "
			    "own", SPAN_FMT(text));
	}
}

/* --- its methods --- */

static void
look_at_method(struct complaints *complaints, const struct conf_route *route,
    const char *method, char *pointer)
{
	static const char *const usual[] = {"GET", "HEAD", "POST", "PUT",
	    "PATCH", "DELETE", "OPTIONS", "QUERY"};
	struct nearest nearest = nearest_to(span_str(method));
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
		nearest_try(&nearest, span_str(usual[i]));
	bool is_usual = nearest.found.ptr != NULL &&
	    span_eq(nearest.found, nearest.wanted);
	bool keyed = route->idempotency != NULL;
	/* "*" and "POTS" are methods, too, as far as HTTP goes. */
	if (nearest.found.ptr == NULL)
		warning_add(complaints, pointer, "it is no usual method, and "
		    "others are not served here; without \"methods\" the usual "
		    "ones are");
	else if (!is_usual)
		warning_add(complaints, pointer, "it is no usual method, and "
		    "others are not served here; did you mean \"%.*s\"?",
		    SPAN_FMT(nearest.found));
	else if (keyed && (!strcmp(method, "GET") || !strcmp(method, "HEAD")))
		warning_add(complaints, pointer, "what only reads needs no "
		    "promise: here it needs a key, and a retry is given an old "
		    "answer; leave it to a route without \"idempotency\"");
	else if (keyed && !strcmp(method, "OPTIONS"))
		warning_add(complaints, pointer, "a browser asks with it "
		    "before it sends a request from another site, and has no "
		    "key then: leave it to a route without \"idempotency\"");
	else
		free(pointer);
}

void
warnings_route_find(const struct conf *conf, const struct conf_route *route,
    struct complaints *complaints)
{
	look_at_path(complaints, route);
	for (size_t i = 0; i < route->methods.count; i++) {
		/* Where the file names it: in a list, or alone. */
		char *all = mem_printf("/routes/%u/methods", route->index);
		char *one = mem_printf("%s/%zu", all, i);
		bool listed = spots_has(conf->spots, one);
		look_at_method(complaints, route, route->methods.list[i],
		    listed ? one : all);
		free(listed ? all : one);
	}
	look_at_own(complaints, conf, route->status, "status_path");
	look_at_own(complaints, conf, route->policy, "policy_path");
	look_at_hidden(complaints, conf, route);
}
