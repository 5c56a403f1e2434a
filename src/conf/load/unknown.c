/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/load/unknown_private.h"
#include "conf/words.h"

static const char no_such[] = "there is no such member";

/* --- members --- */

static bool
is_below(const struct option *option, enum group group, struct span prefix)
{
	return option->group == group &&
	    span_starts(span_str(option->path), prefix);
}

/* The first name of what follows the prefix in an option's path. */
static struct span
name_behind(const struct option *option, struct span prefix)
{
	struct span rest = span_from(span_str(option->path), prefix.len);
	struct span name;
	must(span_next(&rest, '.', &name));
	return name;
}

/* What other programs call so; NULL: nothing. */
static const char *
other_name(enum group group, struct span prefix, const char *name)
{
	static const struct {
		enum group group;
		const char *path, *meant;
	} others[] = {
#define OTHER_NAME(group, path, meant) {GROUP_##group, path, meant},
#include "tbl/other_names.h"
#undef OTHER_NAME
	};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (others[i].group == group &&
		    span_starts(span_str(others[i].path), prefix) &&
		    !strcmp(others[i].path + prefix.len, name))
			return others[i].meant;
	return NULL;
}

/* The only option that ends so, of a group or (GROUP_COUNT_) of any. */
static const struct option *
only_one(enum group group, const char *name)
{
	const struct option *found = NULL;
	for (size_t i = 0; i < n_options; i++) {
		const char *dot = strrchr(options[i].path, '.');
		const char *last = dot != NULL ? dot + 1 : options[i].path;
		if (strcmp(last, name) != 0 ||
		    (group != GROUP_COUNT_ && options[i].group != group))
			continue;
		if (found != NULL)
			return NULL;
		found = &options[i];
	}
	return found;
}

/*
 * The option that is spelled so and stands in another object: one of the same
 * object first; or the one that "log.level" stands for.  NULL: none.
 */
static const struct option *
elsewhere(enum group group, struct span prefix, const char *name)
{
	const struct option *option = NULL;
	for (size_t i = 0; i < n_options && strchr(name, '.') != NULL; i++)
		if (is_below(&options[i], group, prefix) &&
		    !strcmp(options[i].path + prefix.len, name))
			return &options[i];
	if (group != GROUP_ROOT)
		option = only_one(group, name);
	if (option == NULL && group == GROUP_IDEMPOTENCY)
		option = only_one(GROUP_ROUTE, name);
	return option != NULL ? option : only_one(GROUP_COUNT_, name);
}

static void
say_elsewhere(struct loader *l, enum group group, const struct json_place *at,
    const struct option *option)
{
	/* What an object of the group is to the reader. */
	static const char *const words_of[GROUP_COUNT_] = {
	    [GROUP_ROOT] = "the whole file",
	    [GROUP_LISTEN] = "an object in \"listen\"",
	    [GROUP_ADMIN_TOKEN] = "an object in \"admin.tokens\"",
	    [GROUP_ENCRYPTION_KEY] = "a key of \"store.encryption_keys\"",
	    [GROUP_UPSTREAM] = "an upstream",
	    [GROUP_ROUTE] = "a route",
	    [GROUP_IDEMPOTENCY] = "\"idempotency\"",
	    [GROUP_SCOPE] = "an object in \"scope\"",
	    [GROUP_RECONCILE] = "\"on_unknown.reconcile\"",
	    [GROUP_WITNESS] = "\"on_unknown.witness\"",
	    [GROUP_BROKER] = "a broker",
	    [GROUP_SOURCE] = "a source",
	    [GROUP_RELAY] = "a relay",
	};
	const char *dot = strrchr(option->path, '.');
	const char *words =
	    option->group == GROUP_IDEMPOTENCY && group == GROUP_ROOT
	    ? "\"defaults\" or a route's \"idempotency\""
	    : words_of[option->group];
	bool same = option->group == GROUP_ROOT || option->group == group;
	if (dot == NULL)
		complaints_at_name(
		    l, at, "%s here; it belongs in %s", no_such, words);
	else
		complaints_at_name(l, at,
		    "%s here; did you mean \"%s\" in \"%.*s\"%s%s?", no_such,
		    dot + 1, (int)(dot - option->path), option->path,
		    same ? "" : " of ", same ? "" : words);
}

static void
say_nearest(struct loader *l, const struct json_place *at,
    const struct nearest *nearest)
{
	if (nearest->found.ptr == NULL)
		complaints_at_name(l, at, "%s", no_such);
	else
		complaints_at_name(l, at, "%s; did you mean \"%.*s\"?",
		    no_such, SPAN_FMT(nearest->found));
}

void
unknown_member(struct loader *l, enum group group, struct span prefix,
    const struct json_place *at, const json_t *value)
{
	const char *name = at->member;
	const char *other = other_name(group, prefix, name);
	const struct option *option = elsewhere(group, prefix, name);
	/* How people comment in JSON that has no comments. */
	bool comment = *name == '#' || !strncmp(name, "//", 2) ||
	    !strcmp(name + strspn(name, "_$"), "comment");
	struct nearest nearest = nearest_to(span_str(name));
	for (size_t i = 0; i < n_options; i++)
		if (is_below(&options[i], group, prefix))
			nearest_try(
			    &nearest, name_behind(&options[i], prefix));
	if (group == GROUP_ROOT && at->up == NULL &&
	    !strcmp(name, "$schema")) {
		/* Editors look there; to us it means nothing. */
		if (!json_is_string(value))
			complaints_at(l, at, "must be a string");
	} else if (comment) {
		complaints_at_name(l, at, "%s; a comment begins with //, "
		    "outside of all quotes", no_such);
	} else if (group == GROUP_IDEMPOTENCY && at->up != NULL &&
	    !strcmp(name, "idempotency")) {
		complaints_at_name(l, at, "%s here; what is in it stands "
		    "directly in \"%s\"", no_such, at->up->member);
	} else if (other != NULL) {
		complaints_at_name(
		    l, at, "%s; did you mean %s?", no_such, other);
	} else if (option != NULL && nearest.distance > 1) {
		say_elsewhere(l, group, at, option);
	} else {
		say_nearest(l, at, &nearest);
	}
}

void
unknown_shape(struct loader *l, enum group group, struct span prefix,
    const struct json_place *at)
{
	const struct option *example = NULL;
	bool needs = group != GROUP_ROOT && group != GROUP_IDEMPOTENCY;
	for (size_t i = 0; i < n_options; i++) {
		const struct option *option = &options[i];
		if (!is_below(option, group, prefix))
			continue;
		bool required = option_required(option);
		bool inner = strchr(option->path + prefix.len, '.') != NULL;
		if (example == NULL ||
		    (required && !inner && !option_required(example)))
			example = option;
		/* What an optional object needs, nobody needs without it. */
		needs |= required && !inner;
	}
	complaints_at(l, at, "must be an object like {\"%.*s\": ...}%s",
	    SPAN_FMT(name_behind(example, prefix)),
	    needs ? "" : "; {} has all the defaults");
}

void
unknown_beside(
    struct loader *l, const struct json_place *at, const char *other)
{
	struct nearest nearest = nearest_to(span_str(at->member));
	nearest_try(&nearest, span_str(other));
	say_nearest(l, at, &nearest);
}

/* --- words --- */

void
unknown_word(struct loader *l, const struct json_place *at, const char *must,
    const char *text, const char *words, const char *more)
{
	/* What other programs call it, which is near to no word here. */
	static const char *const aliases[][2] = {
	    {"audit", "observe"},
	    {"dry-run", "observe"},
	    {"dry_run", "observe"},
	    {"monitor", "observe"},
	    {"shadow", "observe"},
	};
	const char *meant = text;
	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
		if (!strcmp(text, aliases[i][0]))
			meant = aliases[i][1];
	struct nearest nearest = nearest_to(span_str(meant));
	struct span list = span_str(words), one;
	char *listed = words_listed(words);
	while (span_next(&list, ' ', &one))
		nearest_try(&nearest, one);
	bool found = nearest.found.ptr != NULL;
	complaints_at(l, at, "%s %s%s%s%.*s%s", must, listed, more,
	    found ? "; did you mean \"" : "", SPAN_FMT(nearest.found),
	    found ? "\"?" : "");
	free(listed);
}

/* --- names that the file gives --- */

void
unknown_name(struct loader *l, const struct json_place *at, const char *what,
    const struct nearest *nearest, const char *only)
{
	struct span found = nearest->found;
	if (found.ptr == NULL && only != NULL)
		found = span_str(only);
	if (found.ptr == NULL)
		complaints_at(l, at, "no %s is named \"%.*s\"", what,
		    SPAN_FMT(nearest->wanted));
	else
		complaints_at(l, at,
		    "no %s is named \"%.*s\"; did you mean \"%.*s\"?", what,
		    SPAN_FMT(nearest->wanted), SPAN_FMT(found));
}

/* --- variables of a template --- */

bool
unknown_variable(struct loader *l, const struct json_place *at,
    const char *text, unsigned kinds)
{
	static const char *const arguments[TEMPLATE_SCOPE + 1] = {
	    [TEMPLATE_PATH] = "NAME} (of the path of the route)",
	    [TEMPLATE_JSON] = "/pointer} (of the body)",
	    [TEMPLATE_HEADER] = "NAME}",
	    [TEMPLATE_SCOPE] = "N} (an entry of the scope, from 0)",
	};
	struct span name = template_unknown(text, kinds);
	if (name.ptr == NULL)
		return false;
	char *list = mem_str(SPAN(""));
	for (unsigned i = 0; i <= TEMPLATE_SCOPE; i++) {
		const char *known = template_spelling((enum template_kind)i);
		if (known == NULL || (kinds & 1u << i) == 0)
			continue;
		char *longer = mem_printf("%s%s{%s%s", list,
		    *list == '\0'       ? ""
			: kinds >> i == 1 ? " and "
					  : ", ",
		    known, arguments[i] != NULL ? arguments[i] : "}");
		free(list);
		list = longer;
	}
	complaints_at(l, at, "there is no variable {%.*s} here%s%s",
	    SPAN_FMT(name),
	    *list == '\0' ? ": {NAME} is a segment of the path of the route"
			  : ", but ",
	    list);
	free(list);
	return true;
}
