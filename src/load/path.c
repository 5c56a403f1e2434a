/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/ascii.h"
#include "base/digest.h"
#include "base/mem.h"
#include "conf/name.h"
#include "load/complaints_private.h"
#include "load/path_private.h"
#include "load/text_private.h"

enum {
	RECONCILE_VARIABLES = 1 << TEMPLATE_KEY | 1 << TEMPLATE_PATH |
	    1 << TEMPLATE_JSON,
	NAMESPACE_VARIABLES = 1 << TEMPLATE_BARE,
	MESSAGE_VARIABLES = 1 << TEMPLATE_JSON | 1 << TEMPLATE_HEADER |
	    1 << TEMPLATE_KEY | 1 << TEMPLATE_ENTITY | 1 << TEMPLATE_TYPE |
	    1 << TEMPLATE_ID,
};

/* The next segment of a path that begins with a slash; false at its end. */
static bool
take_segment(struct span *path, struct span *ret_segment)
{
	if (path->len == 0)
		return false;
	const char *end = memchr(path->ptr + 1, '/', path->len - 1);
	size_t len = end ? (size_t)(end - path->ptr) : path->len;
	*ret_segment = span_of(path->ptr + 1, len - 1);
	*path = span_from(*path, len);
	return true;
}

/* --- paths of targets --- */

const char *
path_wrong_target(const char *text)
{
	struct span path = span_of(text, strcspn(text, "?"));
	struct span segment;
	if (path.len == 0 || *text != '/')
		return "must begin with \"/\"";
	while (take_segment(&path, &segment)) {
		if (span_is_dots(segment))
			return "must not have \".\" or \"..\" as a segment";
		if (segment.len == 0 && path.len > 0)
			return "must not have two slashes in a row";
	}
	for (const char *p = text; *p != '\0'; p++) {
		uint8_t byte;
		if (*p <= 0x20 || *p >= 0x7f || *p == '#' || *p == '\\')
			return "must consist of visible ASCII without \"#\" "
			       "and \"\\\"";
		if (*p == '%' &&
		    (!hex_decode(span_of(p + 1, strnlen(p + 1, 2)), &byte, 1) ||
			byte == 0))
			return "\"%\" must begin a percent-encoded byte other "
			       "than %00";
	}
	return NULL;
}

/* --- paths of routes --- */

/* {x}, with letters, digits and _ - within the braces. */
static bool
is_variable(struct span segment)
{
	size_t last = segment.len - 1;
	if (segment.len < 3 || segment.ptr[0] != '{' ||
	    segment.ptr[last] != '}')
		return false;
	for (size_t i = 1; i < last; i++) {
		char c = segment.ptr[i];
		if (!ascii_is_alpha(c) && !ascii_is_digit(c) && c != '_' &&
		    c != '-')
			return false;
	}
	return true;
}

static bool
has_any(struct span s, const char *bytes)
{
	for (size_t i = 0; i < s.len; i++)
		if (strchr(bytes, s.ptr[i]) != NULL)
			return true;
	return false;
}

/* What is wrong with one segment; the last one may be a star. */
static const char *
read_segment(struct span text, bool last, struct conf_segment *ret_segment)
{
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
	if (is_variable(text)) {
		ret_segment->kind = SEGMENT_ANY;
		ret_segment->text = span_of(text.ptr + 1, text.len - 2);
		return NULL;
	}
	if (has_any(text, "{}"))
		return "{x} must be a whole segment";
	if (has_any(text, "*"))
		return "\"*\" may only be the last segment";
	return NULL;
}

static const char *
wrong_path(const char *text)
{
	const char *wrong = name_wrong(text);
	if (wrong != NULL)
		return wrong;
	if (*text != '/')
		return "must begin with \"/\"";
	if (strchr(text, '%') != NULL)
		return "must not have \"%\": paths are matched after decoding";
	if (strpbrk(text, "?#\\") != NULL)
		return "must not have \"?\", \"#\" or \"\\\"";
	return NULL;
}

/* The segments point into the text. */
static const char *
read_path(const char *text, struct conf_route *route)
{
	struct span rest = span_str(text);
	struct span segment;
	const char *wrong = wrong_path(text);
	if (wrong != NULL || rest.len == 1)
		return wrong;
	size_t slashes = 0;
	for (const char *p = text; *p != '\0'; p++)
		slashes += *p == '/';
	route->segments = mem_zero(slashes * sizeof *route->segments);
	while (wrong == NULL && take_segment(&rest, &segment))
		wrong = read_segment(segment, rest.len == 0,
		    &route->segments[route->n_segments++]);
	return wrong;
}

void
path_parse(struct loader *l, const struct given *given)
{
	struct conf_route *route = given->base;
	char *text = text_read(l, given->at, given->value);
	if (text == NULL)
		return;
	path_clear(route, &route->path);
	route->path = text;
	const char *wrong = read_path(text, route);
	if (wrong != NULL) {
		complaints_at(l, given->at, "%s", wrong);
		path_clear(route, &route->path);
	}
}

void
path_clear(void *base, void *field)
{
	struct conf_route *route = base;
	(void)field;
	text_free(&route->path);
	free(route->segments);
	route->segments = NULL;
	route->n_segments = 0;
}

/* --- texts with variables --- */

/* What is wrong with the path to ask the upstream at. */
static const char *
read_reconcile(const char *text, struct template *ret_template)
{
	const char *wrong =
	    template_read(text, RECONCILE_VARIABLES, ret_template);
	if (wrong != NULL)
		return wrong;
	char *sample = template_sample(ret_template);
	wrong = path_wrong_target(sample);
	if (wrong == NULL && !strcmp(sample, text))
		wrong = "must have {key}, {path:NAME} or {json:/pointer}, or "
			"all keys would get one answer";
	free(sample);
	if (wrong != NULL)
		template_clear(ret_template);
	return wrong;
}

const char *
path_read_message(const char *text, struct template *ret_template)
{
	return template_read(text, MESSAGE_VARIABLES, ret_template);
}

/*
 * What is wrong with the path of a message's request.  One that servers read in
 * two ways leads to no route for certain.
 */
static const char *
read_message_path(const char *text, struct template *ret_template)
{
	const char *wrong = path_read_message(text, ret_template);
	if (wrong != NULL)
		return wrong;
	char *sample = template_sample(ret_template);
	size_t len = strcspn(sample, "?");
	wrong = path_wrong_target(sample);
	for (size_t i = 0; wrong == NULL && i + 2 < len; i++)
		if (span_ieq(span_of(sample + i, 3), SPAN("%2F")) ||
		    span_ieq(span_of(sample + i, 3), SPAN("%2E")))
			wrong = "must not have \"%2F\" or \"%2E\"";
	free(sample);
	if (wrong != NULL)
		template_clear(ret_template);
	return wrong;
}

/*
 * Values of variables have no slash; with one between any two of them, no two
 * lists of values make one text.
 */
static const char *
read_namespace(const char *text, struct template *ret_template)
{
	const char *wrong =
	    template_read(text, NAMESPACE_VARIABLES, ret_template);
	bool parted = true;
	for (size_t i = 0; wrong == NULL && i < ret_template->count; i++) {
		const struct template_piece *piece = &ret_template->pieces[i];
		if (piece->kind != TEMPLATE_TEXT && !parted)
			wrong = "must have a \"/\" between two variables";
		parted = piece->kind == TEMPLATE_TEXT &&
		    (parted ||
			memchr(piece->text.ptr, '/', piece->text.len));
	}
	if (wrong != NULL)
		template_clear(ret_template);
	return wrong;
}

static void
parse_template(struct loader *l, const struct given *given,
    const char *(*read)(const char *text, struct template *ret_template))
{
	struct template made = {NULL, NULL, 0};
	char *text = text_read(l, given->at, given->value);
	if (text == NULL)
		return;
	const char *wrong =
	    *text == '\0' ? "must not be empty" : read(text, &made);
	text_free(&text);
	if (wrong != NULL) {
		complaints_at(l, given->at, "%s", wrong);
		return;
	}
	path_clear_template(NULL, given_field(given));
	*(struct template *)given_field(given) = made;
}

void
path_parse_reconcile(struct loader *l, const struct given *given)
{
	parse_template(l, given, read_reconcile);
}

void
path_parse_message(struct loader *l, const struct given *given)
{
	parse_template(l, given, read_message_path);
}

void
path_parse_namespace(struct loader *l, const struct given *given)
{
	parse_template(l, given, read_namespace);
}

void
path_clear_template(void *base, void *field)
{
	(void)base;
	template_clear(field);
}
