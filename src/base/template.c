/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/field.h"
#include "base/mem.h"
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
read_variable(
    struct span inner, unsigned kinds, struct template_piece *ret_piece)
{
	struct template_piece piece = find_variable(inner, kinds);
	if (piece.kind == TEMPLATE_TEXT)
		return "has a variable that is not known here";
	if (piece.kind == TEMPLATE_HEADER && !field_is_token(piece.text))
		return "{header:…} must have the name of a header";
	if (piece.kind == TEMPLATE_JSON &&
	    !json_pointer_read(piece.text, &piece.pointer))
		return "{json:…} must have a JSON pointer like "
		       "{json:/order_id}";
	*ret_piece = piece;
	return NULL;
}

/* --- all of them --- */

static void
add_piece(struct template *t, const struct template_piece *piece)
{
	if (piece->kind == TEMPLATE_TEXT && piece->text.len == 0)
		return;
	t->pieces =
	    mem_grow(t->pieces, (t->count + 1) * sizeof *t->pieces);
	t->pieces[t->count++] = *piece;
}

const char *
template_read(
    const char *text, unsigned kinds, struct template *ret_template)
{
	struct template t = {mem_str(span_str(text)), NULL, 0};
	struct span rest = span_str(t.text);
	const char *wrong = NULL;
	while (wrong == NULL && rest.len > 0) {
		/* The text up to the next brace, and the variable behind it. */
		size_t len = strcspn(rest.ptr, "{}");
		struct template_piece piece = {
		    TEMPLATE_TEXT, span_of(rest.ptr, len), {NULL, 0}};
		add_piece(&t, &piece);
		rest = span_from(rest, len);
		if (rest.len == 0)
			break;
		const char *end = memchr(rest.ptr, '}', rest.len);
		if (*rest.ptr == '}' || end == NULL) {
			wrong = "has a brace without its other one";
			break;
		}
		size_t inner = (size_t)(end - rest.ptr) - 1;
		wrong = read_variable(
		    span_of(rest.ptr + 1, inner), kinds, &piece);
		if (wrong == NULL)
			add_piece(&t, &piece);
		rest = span_from(rest, inner + 2);
	}
	if (wrong != NULL)
		template_clear(&t);
	else
		*ret_template = t;
	return wrong;
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

void
template_clear(struct template *t)
{
	for (size_t i = 0; i < t->count; i++)
		json_pointer_clear(&t->pieces[i].pointer);
	free(t->pieces);
	free(t->text);
	*t = (struct template){NULL, NULL, 0};
}

bool
template_has(const struct template *t, enum template_kind kind)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->pieces[i].kind == kind)
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
template_sample(const struct template *t)
{
	char *text = mem_str(SPAN(""));
	for (size_t i = 0; i < t->count; i++) {
		const struct template_piece *piece = &t->pieces[i];
		struct span part = piece->kind == TEMPLATE_TEXT
		    ? piece->text
		    : SPAN("x");
		char *longer = mem_printf("%s%.*s", text, SPAN_FMT(part));
		free(text);
		text = longer;
	}
	return text;
}
