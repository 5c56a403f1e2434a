/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/jsonc/spots.h"
#include "conf/nearest.h"
#include "conf/review/covers.h"
#include "conf/review/warning_private.h"
#include "conf/review/warnings_routes_private.h"

/* --- routes that hide others --- */

/* The names as `"a", "b" and "c"`, which are freed; the caller frees it. */
static char *
names_joined(char **names, size_t count)
{
	char *joined = mem_str(SPAN(""));
	for (size_t i = 0; i < count; i++) {
		const char *between = i == 0 ? ""
		    : i + 1 < count          ? ", "
					     : " and ";
		char *longer =
		    mem_printf("%s%s\"%s\"", joined, between, names[i]);
		free(names[i]);
		free(joined);
		joined = longer;
	}
	return joined;
}

static char *
words_of_hider(const struct conf_route *route, const char *names, bool several)
{
	const char *kind = route->idempotency == NULL
	    ? ", without \"idempotency\","
	    : route->observes ? ", which only observes,"
			      : "";
	const char *lost = route->idempotency == NULL
	    ? "keys nobody looks at then"
	    : route->observes ? "keys promise nothing then"
			      : "own \"idempotency\" is not used then";
	return mem_printf("this route%s hides the route%s %s behind it, whose "
	    "%s: put %s first", kind, several ? "s" : "", names, lost,
	    several ? "those" : "that one");
}

static bool
is_hidden(const struct conf_route *other, const struct conf_route *route)
{
	return other->idempotency != NULL && covers_paths_of(route, other) &&
	    covers_some_method_of(route, other);
}

static bool
covers_all_of(const struct conf_route *a, const struct conf_route *b)
{
	for (size_t i = 0; i < b->methods.count; i++)
		if (!covers_method(a, b->methods.list[i]))
			return false;
	return covers_paths_of(a, b) &&
	    (b->methods.count > 0 || a->methods.count == 0);
}

/* Whichever comes first, the other is never reached. */
static bool
is_twin(const struct conf_route *a, const struct conf_route *b)
{
	return covers_all_of(a, b) && covers_all_of(b, a);
}

static char *
words_of_same(const char *names, bool several)
{
	return mem_printf("the route%s %s behind it %s for the same requests, "
	    "and none comes there: remove %s", several ? "s" : "", names,
	    several ? "are" : "is", several ? "all but one" : "one");
}

/* Those of which it is the same, or of the others that are hidden. */
static void
warn_of_hidden(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *route, bool same)
{
	size_t count = 0;
	char **names = mem_zero(conf->n_routes * sizeof *names);
	for (size_t i = route->index + 1; i < conf->n_routes; i++)
		if (is_hidden(&conf->routes[i], route) &&
		    is_twin(&conf->routes[i], route) == same)
			names[count++] = mem_text(conf->routes[i].name);
	if (count > 0) {
		char *pointer = mem_printf("/routes/%u", route->index);
		char *joined = names_joined(names, count);
		char *words = same
		    ? words_of_same(joined, count > 1)
		    : words_of_hider(route, joined, count > 1);
		warning_add(complaints, pointer, words);
		free(pointer);
		free(joined);
		free(words);
	}
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
warn_of_own(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *own, const char *member)
{
	const struct conf_route *hider;
	const char *hides = own != NULL ? hider_of(conf, own, &hider) : NULL;
	if (hides == NULL)
		return;
	char *pointer = mem_printf("/routes/%u/%s", own->index, member);
	char *words = mem_printf("\"%s\" of the route \"%s\", which comes "
	    "first, serves this path, and nobody is told anything here: %s"
	    "name another path",
	    hides, hider->name,
	    hider->index != own->index ? "put this route first, or " : "");
	warning_add(complaints, pointer, words);
	free(pointer);
	free(words);
}

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

/* A segment of a path that is none of our variables fits nothing else. */
static void
warn_of_variables(
    struct complaints *complaints, const struct conf_route *route)
{
	for (size_t i = 0; i < route->n_segments; i++) {
		struct span text = route->segments[i].text;
		struct span name = variable_of_others(text);
		if (route->segments[i].kind != SEGMENT_TEXT || name.len == 0)
			continue;
		char *pointer = mem_printf("/routes/%u/path", route->index);
		char *words = mem_printf("\"%.*s\" fits only itself; a "
		    "variable is {%.*s}", SPAN_FMT(text), SPAN_FMT(name));
		warning_add(complaints, pointer, words);
		free(pointer);
		free(words);
	}
}

/* Of two variables of one name, only the first one is ever looked at. */
static bool
is_repeated(const struct conf_route *route, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (route->segments[i].kind == SEGMENT_ANY &&
		    span_eq(route->segments[i].text,
			route->segments[index].text))
			return true;
	return false;
}

static void
warn_of_repeated(struct complaints *complaints, const struct conf_route *route)
{
	for (size_t i = 0; i < route->n_segments; i++) {
		struct span name = route->segments[i].text;
		if (route->segments[i].kind != SEGMENT_ANY ||
		    !is_repeated(route, i))
			continue;
		char *pointer = mem_printf("/routes/%u/path", route->index);
		char *words = mem_printf("{%.*s} appears twice, and only the "
		    "first one counts where it is named: give each a name of "
		    "its own", SPAN_FMT(name));
		warning_add(complaints, pointer, words);
		free(pointer);
		free(words);
	}
}

/* What nobody sees in a path, be it a space or wider, thinner or none. */
static const char *const unseen[] = {" ", "\xc2\xa0", "\xc2\xad",
    "\xe2\x80\x80", "\xe2\x80\x81", "\xe2\x80\x82", "\xe2\x80\x83",
    "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86", "\xe2\x80\x87",
    "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\x8b",
    "\xe2\x80\x8c", "\xe2\x80\x8d", "\xe2\x80\x8e", "\xe2\x80\x8f",
    "\xe2\x80\xaf", "\xe2\x81\xa0", "\xe3\x80\x80", "\xef\xbb\xbf"};

/* The first of those; NULL: there is none.  Percent-encoded; the caller's. */
static char *
first_unseen(const char *path)
{
	const char *first = NULL;
	size_t which = 0;
	for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++) {
		const char *at = strstr(path, unseen[i]);
		if (at == NULL || (first != NULL && at > first))
			continue;
		first = at;
		which = i;
	}
	char *text = first != NULL ? mem_text("") : NULL;
	for (const char *p = unseen[which]; text != NULL && *p != '\0'; p++) {
		char *longer = mem_printf("%s%%%02X", text, (uint8_t)*p);
		free(text);
		text = longer;
	}
	return text;
}

static void
warn_of_unseen(struct complaints *complaints, const struct conf_route *route)
{
	char *encoded = first_unseen(route->path);
	if (encoded == NULL)
		return;
	char *pointer = mem_printf("/routes/%u/path", route->index);
	char *words = mem_printf("there is a space in it, or what looks like "
	    "one or like nothing: only requests that have %s there come here",
	    encoded);
	warning_add(complaints, pointer, words);
	free(pointer);
	free(words);
	free(encoded);
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

/* "*" and "POTS" are methods, too, as far as HTTP goes; NULL: it is usual. */
static char *
words_of_unusual(const char *method)
{
	static const char *const usual[] = {"GET", "HEAD", "POST", "PUT",
	    "PATCH", "DELETE", "OPTIONS", "QUERY"};
	struct nearest nearest = nearest_to(span_str(method));
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
		nearest_try(&nearest, span_str(usual[i]));
	if (nearest.found.ptr == NULL)
		return mem_text("it is no usual method, and others are not "
		    "served here; without \"methods\" the usual ones are");
	if (span_eq(nearest.found, nearest.wanted))
		return NULL;
	return mem_printf("it is no usual method, and others are not served "
	    "here; did you mean \"%.*s\"?", SPAN_FMT(nearest.found));
}

static char *
words_of_method(const struct conf_route *route, const char *method)
{
	char *words = words_of_unusual(method);
	bool reads = !strcmp(method, "GET") || !strcmp(method, "HEAD");
	if (words != NULL || route->idempotency == NULL || !reads)
		return words;
	return mem_text("what only reads needs no promise: here it needs a "
	    "key, and a retry is given an old answer; leave it to a route "
	    "without \"idempotency\"");
}

static void
warn_of_methods(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *route)
{
	for (size_t i = 0; i < route->methods.count; i++) {
		char *words = words_of_method(route, route->methods.list[i]);
		if (words == NULL)
			continue;
		char *pointer = methods_pointer(conf, route, i);
		warning_add(complaints, pointer, words);
		free(pointer);
		free(words);
	}
}

void
warnings_routes_find(const struct conf *conf, const struct conf_route *route,
    struct complaints *complaints)
{
	warn_of_variables(complaints, route);
	warn_of_unseen(complaints, route);
	warn_of_repeated(complaints, route);
	warn_of_methods(complaints, conf, route);
	warn_of_own(complaints, conf, route->status, "status_path");
	warn_of_own(complaints, conf, route->policy, "policy_path");
	warn_of_hidden(complaints, conf, route, false);
	warn_of_hidden(complaints, conf, route, true);
}
