/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/digits.h"
#include "base/field.h"
#include "base/template.h"

/* --- one variable --- */

static const struct {
	struct span name; /* up to where its argument begins */
	enum template_kind kind;
} variables[] = {
    {{"key", 3}, TEMPLATE_KEY},
    {{"entity", 6}, TEMPLATE_ENTITY},
    {{"type", 4}, TEMPLATE_TYPE},
    {{"id", 2}, TEMPLATE_ID},
    {{"path:", 5}, TEMPLATE_PATH},
    {{"json:", 5}, TEMPLATE_JSON},
    {{"header:", 7}, TEMPLATE_HEADER},
    {{"scope:", 6}, TEMPLATE_SCOPE},
};

/*
 * Finds which of the allowed variables stands between the braces, and its
 * argument; TEMPLATE_TEXT: none.  A name is a variable only where that is
 * allowed: "{id}" may be a {NAME}.
 */
static struct template_piece
find_variable(struct span inner, unsigned kinds)
{
	struct template_piece piece = {TEMPLATE_TEXT, inner, {NULL, 0}};
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		struct span name = variables[i].name;
		if ((kinds & 1u << variables[i].kind) == 0 ||
		    !span_starts(inner, name))
			continue;
		if (name.ptr[name.len - 1] == ':')
			piece.text = span_from(inner, name.len);
		else if (inner.len > name.len)
			continue;
		piece.kind = variables[i].kind;
	}
	/* {NAME} may be short for {path:NAME}. */
	if (piece.kind == TEMPLATE_TEXT &&
	    (kinds & 1u << TEMPLATE_BARE) != 0 &&
	    !span_eq(inner, SPAN("key")) &&
	    (inner.len == 0 || memchr(inner.ptr, ':', inner.len) == NULL))
		piece.kind = TEMPLATE_PATH;
	return piece;
}

/*
 * Reads the text between two braces.  NULL, or a message that says what is
 * wrong.
 */
static const char *
read_variable(struct arena *arena, struct span inner, unsigned kinds,
    struct template_piece *ret_piece)
{
	struct template_piece piece = find_variable(inner, kinds);
	if (piece.kind == TEMPLATE_TEXT)
		return "has a variable that is not known here";
	if (piece.kind == TEMPLATE_HEADER && !field_is_token(piece.text))
		return "{header:…} must have the name of a header";
	if (piece.kind == TEMPLATE_JSON &&
	    !json_pointer_read(arena, piece.text, &piece.pointer))
		return "{json:…} must have a JSON pointer like "
		       "{json:/order_id}";
	int64_t number;
	if (piece.kind == TEMPLATE_SCOPE &&
	    !digits_read(piece.text, 999, &number))
		return "{scope:…} must have the place of an entry of the "
		       "scope, from 0, like {scope:0}";
	*ret_piece = piece;
	return NULL;
}

/* --- all of them --- */

const char *
template_read(struct arena *arena, const char *text, unsigned kinds,
    struct template *ret_template)
{
	struct span rest = span_str(text);
	size_t most = 1;
	for (const char *p = text; *p != '\0'; p++)
		most += *p == '{' ? 2 : 0;
	struct template t = {
	    text, arena_alloc(arena, most * sizeof *t.pieces), 0};
	while (rest.len > 0) {
		/* The text up to the next brace, and the variable behind it. */
		size_t len = strcspn(rest.ptr, "{}");
		if (len > 0)
			t.pieces[t.count++] = (struct template_piece){
			    TEMPLATE_TEXT, span_of(rest.ptr, len), {NULL, 0}};
		rest = span_from(rest, len);
		if (rest.len == 0)
			break;
		const char *end = memchr(rest.ptr, '}', rest.len);
		if (*rest.ptr == '}' || end == NULL)
			return "has a brace without its other one";
		size_t inner = (size_t)(end - rest.ptr) - 1;
		const char *wrong = read_variable(arena,
		    span_of(rest.ptr + 1, inner), kinds,
		    &t.pieces[t.count++]);
		if (wrong != NULL)
			return wrong;
		rest = span_from(rest, inner + 2);
	}
	*ret_template = t;
	return NULL;
}

struct span
template_unknown(const char *text, unsigned kinds)
{
	const char *end;
	for (; (text = strchr(text, '{')) != NULL; text = end) {
		end = strchr(text, '}');
		if (end == NULL)
			break;
		struct span inner =
		    span_of(text + 1, (size_t)(end - text) - 1);
		if (find_variable(inner, kinds).kind == TEMPLATE_TEXT)
			return inner;
	}
	return (struct span){NULL, 0};
}

const char *
template_spelling(enum template_kind kind)
{
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
		if (variables[i].kind == kind)
			return variables[i].name.ptr;
	return NULL;
}

bool
template_has(const struct template *t, unsigned kinds)
{
	for (size_t i = 0; i < t->count; i++)
		if ((kinds & 1u << t->pieces[i].kind) != 0)
			return true;
	return false;
}

bool
template_match(
    const struct template *t, struct span text, struct span *values)
{
	if (t->count == 0)
		return text.len == 0;
	const struct template_piece *piece = &t->pieces[0];
	const struct template rest = {t->text, t->pieces + 1, t->count - 1};
	if (piece->kind == TEMPLATE_TEXT)
		return span_starts(text, piece->text) &&
		    template_match(&rest,
			span_from(text, piece->text.len), values + 1);
	for (size_t len = 1; len <= text.len && text.ptr[len - 1] != '/';
	     len++) {
		values[0] = span_of(text.ptr, len);
		if (template_match(&rest, span_from(text, len), values + 1))
			return true;
	}
	return false;
}

char *
template_sample(struct arena *arena, const struct template *t)
{
	char *text = arena_alloc(arena, span_str(t->text).len + 1), *at = text;
	for (size_t i = 0; i < t->count; i++)
		at = span_put(at,
		    t->pieces[i].kind == TEMPLATE_TEXT ? t->pieces[i].text
						       : SPAN("x"));
	return text;
}
