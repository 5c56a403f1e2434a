/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/load/complaints_private.h"
#include "conf/load/unknown_private.h"

/* --- members --- */

/* The first name of what follows the prefix in an option's path. */
static struct span
name_behind(const struct option *option, struct span prefix)
{
	struct span rest = span_from(span_str(option->path), prefix.len);
	struct span name;
	must(span_next(&rest, '.', &name));
	return name;
}

static bool
is_below(const struct option *option, enum group group, struct span prefix)
{
	return option->group == group &&
	    span_starts(span_str(option->path), prefix);
}

/*
 * What other programs call it, which may be far from any name here, or near to
 * the wrong one.
 */
static const struct {
	enum group group;
	const char *prefix;
	const char *name;
	const char *meant;
	const char *value; /* an example; NULL: it is clear */
} aliases[] = {
    {GROUP_ROOT, "", "log_level", "log", "{\"level\": \"info\"}"},
    {GROUP_ROOT, "", "logging", "log", NULL},
    {GROUP_ROOT, "", "server", "listen", NULL},
    {GROUP_ROOT, "", "port", "listen", NULL},
    {GROUP_ROOT, "", "backends", "upstreams", NULL},
    {GROUP_ROOT, "", "redis", "store", NULL},
    {GROUP_ROOT, "", "cache_size", "cache", "{\"size\": \"64MiB\"}"},
    {GROUP_ROOT, "", "timeout", "upstreams.NAME.timeout", NULL},
    {GROUP_ROOT, "", "tls", "listen",
	"[{\"address\": \"0.0.0.0:8443\", \"tls\": {...}}]"},
    {GROUP_ROOT, "admin.", "port", "listen", "\"127.0.0.1:9090\""},
    {GROUP_ROOT, "limits.", "max_connections", "connections", NULL},
    {GROUP_ROOT, "store.", "host", "redis", NULL},
    {GROUP_ROOT, "store.", "address", "redis", NULL},
    {GROUP_ROOT, "store.", "port", "redis", NULL},
    {GROUP_ROOT, "store.", "uri", "redis", NULL},
    {GROUP_ROOT, "store.", "url", "redis", NULL},
    {GROUP_ROOT, "store.tls.", "cert", "certificate", NULL},
    {GROUP_LISTEN, "", "host", "address", "\"0.0.0.0:8080\""},
    {GROUP_LISTEN, "", "port", "address", "\"0.0.0.0:8080\""},
    {GROUP_LISTEN, "tls.", "cert", "certificate", NULL},
    {GROUP_BROKER, "tls.", "cert", "certificate", NULL},
    {GROUP_UPSTREAM, "", "cert", "certificate", NULL},
    {GROUP_UPSTREAM, "", "backends", "targets", NULL},
    {GROUP_UPSTREAM, "", "insecure", "ca", "\"FILE\""},
    {GROUP_UPSTREAM, "", "read_timeout", "timeout", NULL},
    {GROUP_UPSTREAM, "", "retries", "idempotency.max_attempts", NULL},
    {GROUP_UPSTREAM, "", "server_name", "targets",
	"[\"https://NAME\"]"},
    {GROUP_UPSTREAM, "", "servers", "targets", NULL},
    {GROUP_UPSTREAM, "", "tls", "ca", "\"FILE\""},
    {GROUP_UPSTREAM, "", "uri", "targets", NULL},
    {GROUP_UPSTREAM, "", "url", "targets", NULL},
    {GROUP_UPSTREAM, "", "urls", "targets", NULL},
    {GROUP_UPSTREAM, "", "verify", "ca", "\"FILE\""},
    {GROUP_ROUTE, "", "backend", "upstream", NULL},
    {GROUP_ROUTE, "", "match", "path", NULL},
    {GROUP_ROUTE, "", "target", "upstream", NULL},
    {GROUP_ROUTE, "", "timeout", "upstreams.NAME.timeout", NULL},
    {GROUP_ROUTE, "", "uri", "path", NULL},
    {GROUP_ROUTE, "", "url", "path", NULL},
    {GROUP_IDEMPOTENCY, "", "expires", "retention", NULL},
    {GROUP_IDEMPOTENCY, "", "expiry", "retention", NULL},
    {GROUP_IDEMPOTENCY, "", "key", "header", NULL},
    {GROUP_IDEMPOTENCY, "", "lock", "lease", NULL},
    {GROUP_IDEMPOTENCY, "", "lock_timeout", "lease", NULL},
    {GROUP_IDEMPOTENCY, "", "lock_ttl", "lease", NULL},
    {GROUP_IDEMPOTENCY, "", "reconcile", "on_unknown",
	"{\"reconcile\": {...}}"},
    {GROUP_IDEMPOTENCY, "", "retries", "max_attempts", NULL},
    {GROUP_IDEMPOTENCY, "", "tenant", "scope", NULL},
    {GROUP_IDEMPOTENCY, "", "timeout", "upstreams.NAME.timeout", NULL},
    {GROUP_IDEMPOTENCY, "", "ttl", "retention", NULL},
    {GROUP_IDEMPOTENCY, "fingerprint.", "exclude", "ignore", NULL},
    {GROUP_RELAY, "", "url", "webhook", NULL},
    {GROUP_SCOPE, "", "aud", "audience", NULL},
    {GROUP_SCOPE, "", "iss", "issuer", NULL},
    {GROUP_SCOPE, "", "jwks", "keys", NULL},
    {GROUP_SOURCE, "", "max_attempts", "retry", "{\"attempts\": ...}"},
    {GROUP_SOURCE, "retry.", "max_attempts", "attempts", NULL},
};
enum { N_ALIASES = sizeof aliases / sizeof aliases[0] };

/* The member's place in aliases; one behind the last: it has none. */
static size_t
alias_of(enum group group, struct span prefix, const char *name)
{
	size_t i = 0;
	while (i < N_ALIASES &&
	    (aliases[i].group != group ||
		!span_eq(span_str(aliases[i].prefix), prefix) ||
		strcmp(aliases[i].name, name) != 0))
		i++;
	return i;
}

static bool
say_alias(struct loader *l, enum group group, struct span prefix,
    const struct json_place *at)
{
	size_t i = alias_of(group, prefix, at->member);
	if (i == N_ALIASES)
		return false;
	const char *value = aliases[i].value;
	complaints_at_name(l, at, "there is no such member; did you mean "
	    "\"%s\"%s%s?", aliases[i].meant, value != NULL ? ": " : "",
	    value != NULL ? value : "");
	return true;
}

/* How people comment in JSON that has no comments. */
static bool
is_comment(const char *name)
{
	return *name == '#' || !strncmp(name, "//", 2) ||
	    !strcmp(name + strspn(name, "_$"), "comment");
}

/* What an object of the group is to the reader; from: the one it is told of. */
static const char *
words_of_group(enum group group, enum group from)
{
	static const char *const words[GROUP_COUNT_] = {
	    [GROUP_ROOT] = "the whole file",
	    [GROUP_LISTEN] = "an object in \"listen\"",
	    [GROUP_ENCRYPTION_KEY] = "a key of \"store.encryption_keys\"",
	    [GROUP_UPSTREAM] = "an upstream",
	    [GROUP_ROUTE] = "a route",
	    [GROUP_IDEMPOTENCY] = "\"idempotency\"",
	    [GROUP_SCOPE] = "an object in \"scope\"",
	    [GROUP_RECONCILE] = "\"on_unknown.reconcile\"",
	    [GROUP_BROKER] = "a broker",
	    [GROUP_SOURCE] = "a source",
	    [GROUP_RELAY] = "a relay",
	};
	if (group == GROUP_IDEMPOTENCY && from == GROUP_ROOT)
		return "\"defaults\" or a route's \"idempotency\"";
	return words[group];
}

/*
 * The only option whose name is that, of a group or (GROUP_COUNT_) of any;
 * NULL: there is none, or there are several.
 */
static const struct option *
only_one(enum group group, struct span name)
{
	const struct option *found = NULL;
	for (size_t i = 0; i < n_options; i++) {
		const char *dot = strrchr(options[i].path, '.');
		const char *last = dot != NULL ? dot + 1 : options[i].path;
		if (!span_eq(span_str(last), name) ||
		    (group != GROUP_COUNT_ && options[i].group != group))
			continue;
		if (found != NULL)
			return NULL;
		found = &options[i];
	}
	return found;
}

/* The same for a member of a group: in the same object, or near it, first. */
static const struct option *
elsewhere(enum group group, struct span name)
{
	const struct option *option = NULL;
	if (group != GROUP_ROOT)
		option = only_one(group, name);
	if (option == NULL && group == GROUP_IDEMPOTENCY)
		option = only_one(GROUP_ROUTE, name);
	return option != NULL ? option : only_one(GROUP_COUNT_, name);
}

/* It is spelled well, and stands in the wrong object. */
static bool
say_elsewhere(
    struct loader *l, enum group group, const struct json_place *at)
{
	struct span name = span_str(at->member);
	const struct option *option = elsewhere(group, name);
	if (option == NULL)
		return false;
	size_t len = strlen(option->path);
	const char *words = words_of_group(option->group, group);
	bool same = option->group == GROUP_ROOT || option->group == group;
	if (len > name.len)
		complaints_at_name(l, at, "there is no such member here; did "
		    "you mean \"%s\" in \"%.*s\"%s%s?",
		    at->member, (int)(len - name.len - 1), option->path,
		    same ? "" : " of ", same ? "" : words);
	else
		complaints_at_name(l, at, "there is no such member here; it "
		    "belongs in %s", words);
	return true;
}

/* {"idempotency": ...} where its members should stand. */
static bool
say_layer(struct loader *l, enum group group, struct span prefix,
    const struct json_place *at)
{
	if (group != GROUP_IDEMPOTENCY || prefix.len > 0 || at->up == NULL ||
	    strcmp(at->member, "idempotency") != 0)
		return false;
	complaints_at_name(l, at, "there is no such member here; what is in it "
	    "stands directly in \"%s\"", at->up->member);
	return true;
}

static void
say_nearest(struct loader *l, const struct json_place *at,
    const struct nearest *nearest)
{
	static const char words[] = "there is no such member";
	if (nearest->found.ptr == NULL)
		complaints_at_name(l, at, "%s", words);
	else
		complaints_at_name(l, at, "%s; did you mean \"%.*s\"?", words,
		    SPAN_FMT(nearest->found));
}

/* "log.level" for {"log": {"level": ...}}. */
static bool
say_path(struct loader *l, enum group group, struct span prefix,
    const struct json_place *at)
{
	const char *dot = strchr(at->member, '.');
	char *path = mem_printf("%.*s%s", SPAN_FMT(prefix), at->member);
	bool known = false;
	for (size_t i = 0; i < n_options && dot != NULL; i++)
		known |= options[i].group == group &&
		    !strcmp(options[i].path, path);
	if (known)
		complaints_at_name(l, at, "there is no such member; did you "
		    "mean \"%s\" in \"%.*s\"?", dot + 1,
		    (int)(dot - at->member), at->member);
	free(path);
	return known;
}

/* Editors look there for the schema of the file; to us it means nothing. */
static bool
is_schema(enum group group, const struct json_place *at)
{
	return group == GROUP_ROOT && at->up == NULL &&
	    !strcmp(at->member, "$schema");
}

static struct nearest
nearest_member(enum group group, struct span prefix, const char *name)
{
	struct nearest nearest = nearest_to(span_str(name));
	for (size_t i = 0; i < n_options; i++)
		if (is_below(&options[i], group, prefix))
			nearest_try(
			    &nearest, name_behind(&options[i], prefix));
	return nearest;
}

struct span
unknown_meant(enum group group, struct span prefix, const char *name)
{
	const struct span none = {NULL, 0};
	size_t alias = alias_of(group, prefix, name);
	if (option_find(group, prefix, name) != NULL ||
	    option_section(group, prefix, name).len > 0)
		return none;
	/* One with an example means something else by its value. */
	if (alias < N_ALIASES)
		return aliases[alias].value == NULL
		    ? span_str(aliases[alias].meant)
		    : none;
	struct nearest nearest = nearest_member(group, prefix, name);
	bool certain = nearest.distance <= 1 ||
	    (nearest.distance <= 2 && elsewhere(group, span_str(name)) == NULL);
	return certain ? nearest.found : none;
}

void
unknown_member(struct loader *l, enum group group, struct span prefix,
    const struct json_place *at, const json_t *value)
{
	if (is_schema(group, at)) {
		if (!json_is_string(value))
			complaints_at(l, at, "must be a string");
		return;
	}
	if (group == GROUP_SOURCE && prefix.len == 0 &&
	    unknown_mistyped_is_told(l, at))
		return;
	if (is_comment(at->member)) {
		complaints_at_name(l, at, "there is no such member; a comment "
		    "begins with //, outside of all quotes");
		return;
	}
	if (say_layer(l, group, prefix, at) ||
	    say_alias(l, group, prefix, at))
		return;
	struct nearest nearest = nearest_member(group, prefix, at->member);
	bool beside = nearest.found.ptr != NULL && nearest.distance <= 1;
	if (!beside &&
	    (say_path(l, group, prefix, at) || say_elsewhere(l, group, at)))
		return;
	say_nearest(l, at, &nearest);
}

const struct option *
unknown_wrapped(enum group group, struct span prefix, const json_t *value)
{
	static const struct {
		enum group group;
		const char *prefix;
		const char *member;
	} sections[] = {
	    {GROUP_ROOT, "admin.", "listen"},
	    {GROUP_ROOT, "cache.", "size"},
	    {GROUP_ROOT, "log.", "level"},
	    {GROUP_ROOT, "store.", "redis"},
	    {GROUP_SOURCE, "request.", "path"},
	    {GROUP_UPSTREAM, "health.", "path"},
	    {GROUP_IDEMPOTENCY, "", "preset"},
	};
	const char *text = json_string_value(value);
	if (text == NULL || strpbrk(text, "@\"\\") != NULL)
		return NULL;
	for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
		if (group == sections[i].group &&
		    span_eq(span_str(sections[i].prefix), prefix))
			return option_find(group, prefix, sections[i].member);
	return NULL;
}

void
unknown_shape(struct loader *l, enum group group, struct span prefix,
    const struct json_place *at, const json_t *value,
    const struct option *wrapped)
{
	if (wrapped != NULL) {
		complaints_at(l, at,
		    "must be an object; did you mean {\"%s\": \"%s\"}?",
		    wrapped->path + prefix.len, json_string_value(value));
		return;
	}
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
		needs |= required;
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

enum { N_KINDS = TEMPLATE_ID + 1 };

/* "{key}, {path:NAME} and {json:/pointer}"; the caller frees it. */
static char *
variables_listed(unsigned kinds)
{
	static const char *const arguments[N_KINDS] = {
	    [TEMPLATE_PATH] = "NAME",
	    [TEMPLATE_JSON] = "/pointer",
	    [TEMPLATE_HEADER] = "NAME",
	};
	char *list = mem_str(SPAN(""));
	for (unsigned i = 0; i < N_KINDS; i++) {
		const char *name = template_spelling((enum template_kind)i);
		bool last = kinds >> i == 1;
		if (name == NULL || (kinds & 1u << i) == 0)
			continue;
		char *longer = mem_printf("%s%s{%s%s}", list,
		    *list == '\0' ? "" : last ? " and " : ", ", name,
		    arguments[i] != NULL ? arguments[i] : "");
		free(list);
		list = longer;
	}
	return list;
}

/* What a name without its kind may have been meant to be. */
static void
say_bare(struct loader *l, const struct json_place *at, struct span name,
    unsigned kinds)
{
	static const char words[] = "there is no variable";
	struct span plain = name;
	char *listed = variables_listed(kinds);
	bool pointer = name.len > 0 && *name.ptr == '/';
	if (pointer)
		plain = span_from(name, 1);
	if (kinds == 1u << TEMPLATE_BARE)
		complaints_at(l, at, "%s {%.*s} here: {NAME} is a segment of "
		    "the path of the route", words, SPAN_FMT(name));
	else if (plain.len == 0 || memchr(plain.ptr, ':', plain.len) != NULL)
		complaints_at(l, at, "%s {%.*s} here, but %s", words,
		    SPAN_FMT(name), listed);
	else if (pointer || (kinds & 1u << TEMPLATE_PATH) == 0)
		complaints_at(l, at, "%s {%.*s} here; did you mean "
		    "{json:/%.*s}?", words, SPAN_FMT(name), SPAN_FMT(plain));
	else
		complaints_at(l, at, "%s {%.*s} here; did you mean "
		    "{path:%.*s} (of the path of the route) or {json:/%.*s} "
		    "(of the body)?", words, SPAN_FMT(name), SPAN_FMT(plain),
		    SPAN_FMT(plain));
	free(listed);
}

/* A variable that is near in spelling, with the argument that was given. */
static bool
say_near(struct loader *l, const struct json_place *at, struct span name,
    unsigned kinds)
{
	const char *colon = memchr(name.ptr, ':', name.len);
	size_t len = colon != NULL ? (size_t)(colon - name.ptr) + 1 : name.len;
	struct nearest nearest = nearest_to(span_of(name.ptr, len));
	for (unsigned i = 0; i < N_KINDS; i++) {
		const char *known = template_spelling((enum template_kind)i);
		if (known == NULL || (kinds & 1u << i) == 0)
			continue;
		/* With an argument or without, as it was written. */
		if ((known[strlen(known) - 1] == ':') == (colon != NULL))
			nearest_try(&nearest, span_str(known));
	}
	if (nearest.found.ptr == NULL)
		return false;
	complaints_at(l, at, "there is no variable {%.*s} here; did you mean "
	    "{%.*s%.*s}?", SPAN_FMT(name), SPAN_FMT(nearest.found),
	    SPAN_FMT(span_from(name, len)));
	return true;
}

bool
unknown_variable(struct loader *l, const struct json_place *at,
    const char *text, unsigned kinds)
{
	struct span name = template_unknown(text, kinds);
	if (name.ptr == NULL)
		return false;
	if (!say_near(l, at, name, kinds))
		say_bare(l, at, name, kinds);
	return true;
}
