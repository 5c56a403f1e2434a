/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/mem.h"
#include "conf/load/path_private.h"
#include "conf/load/rule_private.h"
#include "conf/load/text_private.h"
#include "conf/load/unknown_private.h"
#include "conf/name.h"
#include "conf/nearest.h"

/* --- paths of routes --- */

/*
 * What is wrong with one segment, which a slash or the end of all follows; the
 * last one may be a star.
 */
static const char *
read_segment(struct span text, bool last, struct conf_segment *ret_segment)
{
	static const char of_names[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "abcdefghijklmnopqrstuvwxyz"
				       "0123456789_-";
	*ret_segment = (struct conf_segment){SEGMENT_TEXT, text};
	if (text.len == 0)
		return last ? "must not end with \"/\""
			    : "must not have two slashes in a row";
	if (span_is_dots(text))
		return "must not have \".\" or \"..\" as a segment";
	if (last && span_eq(text, SPAN("*"))) {
		ret_segment->kind = SEGMENT_REST;
		return NULL;
	}
	size_t len = text.ptr[0] == '{' ? strspn(text.ptr + 1, of_names) : 0;
	if (len > 0 && len + 2 == text.len && text.ptr[len + 1] == '}') {
		ret_segment->kind = SEGMENT_ANY;
		ret_segment->text = span_of(text.ptr + 1, len);
		return NULL;
	}
	if (span_has(text, '{') || span_has(text, '}'))
		return "{x} must be a whole segment";
	if (span_has(text, '*'))
		return last
		    ? "\"*\" must be a whole segment, and stands for all that "
		      "follow"
		    : "\"*\" may only be the last segment; a segment in the "
		      "middle is {NAME}";
	return NULL;
}

/* The segments point into the text; a blank is a part of its own. */
static const char *
read_path(struct loader *l, const char *text, struct conf_route *route)
{
	const char *wrong = name_wrong(text), *at = text;
	size_t slashes = 0;
	if (wrong != NULL)
		return wrong;
	if (*text != '/')
		return strstr(text, "://") != NULL
		    ? "must be the path alone, without the host"
		    : "must begin with \"/\"";
	if (strchr(text, '%') != NULL)
		return "must not have \"%\": paths are matched after decoding";
	if (strpbrk(text, "?#\\") != NULL)
		return "must not have \"?\", \"#\" or \"\\\"";
	if (text[1] == '\0')
		return NULL;
	for (const char *p = text; *p != '\0'; p++)
		slashes += *p == '/';
	route->segments = loader_alloc(l, slashes * sizeof *route->segments);
	while (*at == '/' && wrong == NULL) {
		size_t len = strcspn(at + 1, "/");
		wrong = read_segment(span_of(at + 1, len),
		    at[len + 1] == '\0',
		    &route->segments[route->n_segments++]);
		at += len + 1;
	}
	return wrong;
}

/* The path of a route, or one where the gateway answers for it, taken apart. */
void
path_parse(struct loader *l, const struct given *given)
{
	bool own = given->option->type == TYPE_OWN_PATH;
	struct conf_route *route =
	    own ? loader_alloc(l, sizeof *route) : given->base;
	char *text = text_read(l, given->at, given->value);
	const char *wrong = text != NULL ? read_path(l, text, route) : NULL;
	if (wrong != NULL) {
		complaints_at(l, given->at, "%s", wrong);
		route->n_segments = 0;
	} else if (text != NULL) {
		route->path = text;
		if (own)
			*(struct conf_route **)given->field = route;
	}
}

char *
path_no_variable(const struct conf_route *route, struct span name)
{
	struct nearest nearest = nearest_to(name);
	for (size_t i = 0; i < route->n_segments; i++) {
		const struct conf_segment *segment = &route->segments[i];
		if (segment->kind == SEGMENT_TEXT &&
		    span_eq(name_as_others_do(segment->text), name))
			return mem_printf("the path of the route has no "
			    "{%.*s}; did you mean {%.*s} there, instead of "
			    "\"%.*s\"?", SPAN_FMT(name), SPAN_FMT(name),
			    SPAN_FMT(segment->text));
		if (segment->kind == SEGMENT_ANY)
			nearest_try(&nearest, segment->text);
	}
	if (nearest.found.ptr == NULL)
		return mem_printf(
		    "the path of the route has no {%.*s}", SPAN_FMT(name));
	return mem_printf("the path of the route has no {%.*s}; did you mean "
	    "\"%.*s\"?", SPAN_FMT(name), SPAN_FMT(nearest.found));
}

/* --- paths where the gateway itself answers for a route --- */

/* What a record's name is made of besides the scope must be in the path. */
static const char *
wrong_status(const struct conf *conf, const struct conf_route *route,
    struct span *ret_name)
{
	const struct conf_idempotency *policy = route->idempotency;
	const struct template *namespace = &policy->namespace;
	const struct conf_route *status = route->status;
	size_t keys = 0;
	for (size_t i = 0; i < status->n_segments; i++) {
		const struct conf_segment *segment = &status->segments[i];
		if (segment->kind == SEGMENT_REST)
			return "must not end with \"*\"";
		keys += segment->kind == SEGMENT_ANY &&
		    span_eq(segment->text, SPAN("key"));
	}
	if (keys != 1)
		return "must have {key} once";
	if (conf->store.redis.cluster.count > 0 &&
	    policy->entity.pointers.count > 0)
		return "on a cluster, with this entity, no client has a key";
	for (size_t i = 0; i < namespace->count; i++) {
		*ret_name = namespace->pieces[i].text;
		if (namespace->pieces[i].kind == TEMPLATE_PATH &&
		    conf_variable(status, *ret_name) < 0)
			return "must have a variable that the namespace has";
	}
	for (size_t i = 0; i < policy->scope.count; i++) {
		const struct conf_scope *scope = &policy->scope.list[i];
		if (scope->kind != SCOPE_PATH)
			continue;
		*ret_name = span_str(scope->path);
		if (conf_variable(status, *ret_name) < 0)
			return "must have a variable that the scope has";
	}
	*ret_name = SPAN("");
	return NULL;
}

void
path_finish_own(struct loader *l, const struct json_place *at,
    const struct conf_route *route, struct conf_route *own,
    enum route_kind kind)
{
	struct span name = SPAN("");
	const char *wrong = NULL;
	bool taken = false;
	/* Of two that are the same, the second is wrong. */
	for (const struct conf_route *r = l->conf->routes; r <= route; r++)
		taken |= (r->status != NULL && r->status != own &&
			     !strcmp(own->path, r->status->path)) ||
		    (r->policy != NULL && r != route &&
			!strcmp(own->path, r->policy->path));
	if (route->idempotency == NULL)
		wrong = "without \"idempotency\" it has no keys";
	else if (route->observes)
		wrong = "a route that observes promises nothing of its keys: "
			"leave this out until \"mode\" is \"enforce\"";
	else if (taken)
		wrong = "the gateway answers there already";
	else if (kind == ROUTE_STATUS && route->idempotency->headers.count == 0)
		wrong = "\"header\" is empty: clients have no key to ask about";
	else if (kind == ROUTE_STATUS)
		wrong = wrong_status(l->conf, route, &name);
	if (wrong != NULL)
		complaints_at_member(l, at,
		    kind == ROUTE_STATUS ? "status_path" : "policy_path",
		    "%s%s%.*s%s", wrong, name.len > 0 ? ": {" : "",
		    SPAN_FMT(name), name.len > 0 ? "}" : "");
	own->kind = kind;
	own->name = route->name;
	own->index = route->index;
	own->upstream = route->upstream;
	own->idempotency = route->idempotency;
}

/* --- texts with variables --- */

bool
path_is_parted(const struct template *t, const char *parts)
{
	bool parted = true;
	for (size_t i = 0; i < t->count; i++) {
		const struct template_piece *piece = &t->pieces[i];
		bool text = piece->kind == TEMPLATE_TEXT;
		if (!text && !parted)
			return false;
		for (size_t k = 0; text && k < piece->text.len; k++)
			parted |= strchr(parts, piece->text.ptr[k]) != NULL;
		parted &= text;
	}
	return true;
}

bool
path_read_template(struct loader *l, const struct json_place *at,
    const char *text, unsigned kinds, struct template *ret_template)
{
	const char *wrong = *text == '\0'
	    ? "must not be empty"
	    : template_read(l->conf->arena, text, kinds, ret_template);
	if (wrong != NULL && !unknown_variable(l, at, text, kinds))
		complaints_at(l, at, "%s", wrong);
	return wrong == NULL;
}

/* Of a path with a letter for each variable. */
static const char *
wrong_sample(const char *sample, enum option_type type, const char *text)
{
	size_t len = strcspn(sample, "?");
	const char *wrong = rule_of[TYPE_TARGET_PATH].wrong(sample);
	if (wrong != NULL)
		return wrong;
	if (type == TYPE_RECONCILE_PATH)
		return strcmp(sample, text) != 0
		    ? NULL
		    : "must have {key}, {path:NAME} or {json:/pointer}, or "
		      "all keys would get one answer";
	/* What servers read in two ways leads to no route for certain. */
	for (size_t i = 0; i + 2 < len; i++)
		if (span_ieq(span_of(sample + i, 3), SPAN("%2F")) ||
		    span_ieq(span_of(sample + i, 3), SPAN("%2E")))
			return "must not have \"%2F\" or \"%2E\"";
	return NULL;
}

void
path_parse_template(struct loader *l, const struct given *given)
{
	static const unsigned kinds[TYPE_COUNT_] = {
	    [TYPE_RECONCILE_PATH] = QUESTION_VARIABLES,
	    [TYPE_NAMESPACE] = 1 << TEMPLATE_BARE,
	    [TYPE_MESSAGE_PATH] = MESSAGE_VARIABLES,
	};
	enum option_type type = given->option->type;
	struct template made;
	char *text = text_read(l, given->at, given->value);
	if (text == NULL ||
	    !path_read_template(l, given->at, text, kinds[type], &made))
		return;
	const char *wrong = NULL;
	if (type != TYPE_NAMESPACE)
		wrong = wrong_sample(
		    template_sample(l->conf->arena, &made), type, text);
	else if (!path_is_parted(&made, "/"))
		wrong = "must have a \"/\" between two variables";
	if (wrong != NULL)
		complaints_at(l, given->at, "%s", wrong);
	else
		*(struct template *)given->field = made;
}
