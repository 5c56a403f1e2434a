/* SPDX-License-Identifier: BSD-2-Clause */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "conf/jsonc/comments.h"
#include "conf/jsonc/spots_private.h"

static bool read_any_value(
    struct spots_reader *r, unsigned depth, struct spot_node *node);

/* The next byte that means something; NUL at the end. */
static char
next_byte(const struct spots_reader *r)
{
	return r->at < r->end ? *r->at : '\0';
}

/* The name as jansson has it; what jansson cannot read stays as it is. */
static struct span
unescaped(struct arena *arena, struct span spelled)
{
	struct span plain = span_of(spelled.ptr + 1, spelled.len - 2);
	if (plain.len == 0 || memchr(plain.ptr, '\\', plain.len) == NULL)
		return arena_dup(arena, plain);
	json_t *read =
	    json_loadb(spelled.ptr, spelled.len, JSON_DECODE_ANY, NULL);
	if (read != NULL)
		plain = span_str(json_string_value(read));
	plain = arena_dup(arena, plain);
	json_decref(read);
	return plain;
}

static const char *
wrong_name(char c)
{
	if (c == '\'')
		return "a member's name stands in double quotes, not in single "
		       "ones";
	if (c == '#')
		return "a comment begins with //";
	if (c == ',')
		return "there is a comma too many here";
	if (c == ']')
		return "this object is closed by \"}\", not by \"]\"";
	if (c == '{' || c == '[')
		return "a member's name is missing before this; or is a } "
		       "missing further up?";
	return "a member's name stands in double quotes";
}

/* The same, where a bracket may be missing: of the one that is open. */
static bool
wrong_in(struct spots_reader *r, const char *begin, const char *words)
{
	struct spot opened =
	    spots_text_at(r, r->doubted != NULL ? r->doubted : begin);
	spots_text_wrong(r, r->at, words);
	r->fault.opened = opened;
	return false;
}

/* begin: of the object. */
static bool
read_name(
    struct spots_reader *r, const char *begin, struct spot_node *node)
{
	struct span spelled;
	if (spots_text_is_typographic(r))
		return spots_text_wrong(r, r->at,
		    "a member's name stands in plain double quotes (\"), not "
		    "in typographic ones");
	if (next_byte(r) != '"')
		return memchr("{[]", next_byte(r), 3) != NULL
		    ? wrong_in(r, begin, wrong_name(next_byte(r)))
		    : spots_text_wrong(r, r->at, wrong_name(next_byte(r)));
	node->name_at = spots_text_at(r, r->at);
	if (!spots_text_string(r, &spelled) || !spots_text_skip(r))
		return false;
	node->name = unescaped(r->arena, spelled);
	if (next_byte(r) != ':')
		return spots_text_wrong(r, r->at,
		    "\":\" is missing between a member's name and its value");
	r->at++;
	return spots_text_skip(r);
}

static const char *
wrong_end(char c, bool named)
{
	if (c == (named ? ']' : '}'))
		return named
		    ? "this object is closed by \"}\", not by \"]\""
		    : "this list is closed by \"]\", not by \"}\"";
	if (c == '#')
		return "a comment begins with //";
	if (c == ':')
		return named ? "one \":\" is enough"
			     : "a list has no names; an object stands in {}";
	if (c == '=')
		return "\":\" stands between a member's name and its value";
	if (c == ';')
		return named
		    ? "\",\" stands between members, not \";\""
		    : "\",\" stands between the values of a list, not \";\"";
	return "a comma is missing before this";
}

static bool
never_closed(struct spots_reader *r, const char *begin)
{
	if (r->doubted != NULL)
		return spots_text_wrong(r, r->doubted, *r->doubted == '{'
			? "this { seems to have no }, by the indentation"
			: "this [ seems to have no ], by the indentation");
	return spots_text_wrong(r, begin,
	    *begin == '{' ? "this { is never closed"
			  : "this [ is never closed");
}

/* How many blanks its line begins with. */
static size_t
indentation(const struct spots_reader *r, const char *byte)
{
	size_t n = 0;
	while (byte > r->text.ptr && byte[-1] != '\n')
		byte--;
	while (byte + n < r->end && (byte[n] == ' ' || byte[n] == '\t'))
		n++;
	return n;
}

/* The bracket there has been closed by the one at r->at. */
static void
note_closed(struct spots_reader *r, const char *begin)
{
	const char *line = r->at;
	while (line > begin && (line[-1] == ' ' || line[-1] == '\t'))
		line--;
	bool first = line > begin && line[-1] == '\n';
	if (first && r->doubted == NULL &&
	    indentation(r, begin) != indentation(r, r->at))
		r->doubted = begin;
}

/* Behind a value: whether another one follows. */
static bool
read_comma(
    struct spots_reader *r, const char *begin, bool named, bool *ret_more)
{
	char closing = named ? '}' : ']';
	if (!spots_text_skip(r))
		return false;
	if (r->at == r->end)
		return never_closed(r, begin);
	*ret_more = next_byte(r) == ',';
	if (!*ret_more && next_byte(r) != closing)
		return memchr("]}", next_byte(r), 2) != NULL
		    ? wrong_in(r, begin, wrong_end(next_byte(r), named))
		    : spots_text_wrong(
			  r, r->at, wrong_end(next_byte(r), named));
	if (!*ret_more)
		note_closed(r, begin);
	const char *comma = r->at++;
	if (!*ret_more)
		return true;
	if (!spots_text_skip(r))
		return false;
	if (next_byte(r) == closing)
		return spots_text_wrong(
		    r, comma,
		    named ? "there is a comma too many here, before the }"
			  : "there is a comma too many here, before the ]");
	return true;
}

/* The elements of a list or the members of an object, and its brackets. */
static bool
read_items(struct spots_reader *r, unsigned depth, struct spot_node *node)
{
	const char *begin = r->at++;
	bool named = *begin == '{';
	bool more = true;
	struct spot_node **link = &node->first;
	if (depth > SPOTS_DEPTH)
		return spots_text_wrong(r, begin, "this is nested too deep");
	if (!spots_text_skip(r))
		return false;
	if (next_byte(r) == (named ? '}' : ']')) {
		r->at++;
		return true;
	}
	while (more) {
		struct spot_node *item = arena_alloc(r->arena, sizeof *item);
		*link = item;
		link = &item->next;
		if (r->at == r->end)
			return never_closed(r, begin);
		if (named && !read_name(r, begin, item))
			return false;
		if (!read_any_value(r, depth, item) ||
		    !read_comma(r, begin, named, &more))
			return false;
	}
	return true;
}

/* "$NAME" in capitals, as for a shell, and nothing else. */
static bool
is_shell_variable(struct span text)
{
	if (text.len < 4 || text.ptr[0] != '$' || ascii_is_digit(text.ptr[1]))
		return false;
	for (size_t i = 1; i < text.len; i++) {
		char c = text.ptr[i];
		bool capital = ascii_is_alpha(c) && !ascii_is_lower(c);
		if (!capital && !ascii_is_digit(c) && c != '_')
			return false;
	}
	return true;
}

static bool
read_string(struct spots_reader *r, struct spot_node *node)
{
	struct span spelled;
	if (!spots_text_string(r, &spelled))
		return false;
	struct span plain = span_of(spelled.ptr + 1, spelled.len - 2);
	node->variable = memmem(plain.ptr, plain.len, "${", 2) != NULL ||
	    is_shell_variable(plain);
	return true;
}

static bool
read_any_value(struct spots_reader *r, unsigned depth, struct spot_node *node)
{
	node->at = spots_text_at(r, r->at);
	switch (next_byte(r)) {
	case '{':
	case '[':
		return read_items(r, depth + 1, node);
	case '"':
		return read_string(r, node);
	default:
		return spots_text_word(r);
	}
}

/* Whether it has the mark of UTF-16, or begins as ASCII does there. */
static bool
is_utf16(struct span text)
{
	return text.len >= 2 &&
	    (!memcmp(text.ptr, "\xff\xfe", 2) ||
		!memcmp(text.ptr, "\xfe\xff", 2) ||
		(text.ptr[0] == '\0') != (text.ptr[1] == '\0'));
}

/* What a text is that has no value. */
static const char *
nothing(struct span text)
{
	if (text.len == 0)
		return "the file is empty";
	if (memchr(text.ptr, '\r', text.len) != NULL &&
	    memchr(text.ptr, '\n', text.len) == NULL)
		return "lines end with a line feed; with a carriage return "
		       "alone, as here, all that follows a // is comment";
	return "the file has only blanks and comments";
}

static bool
read_text(struct spots_reader *r, struct spot_node *root)
{
	if (is_utf16(r->text))
		return spots_text_wrong(r, r->text.ptr,
		    "the file is in UTF-16, as some editors call \"Unicode\"; "
		    "it must be in UTF-8");
	r->at += comments_mark(r->at, r->text.len);
	r->known = r->at;
	if (!spots_text_skip(r))
		return false;
	if (r->at == r->end)
		return spots_text_wrong(r, r->text.ptr, nothing(r->text));
	if (*r->at != '{' && *r->at != '[')
		return spots_text_wrong(
		    r, r->at, "a configuration begins with {");
	if (!read_any_value(r, 0, root) || !spots_text_skip(r))
		return false;
	if (r->at < r->end)
		return spots_text_wrong(r, r->at,
		    "the JSON ends before this; is there a closing "
		    "bracket too many?");
	return true;
}

struct spots *
spots_read(struct span text, struct spots_fault *ret_fault)
{
	struct spots *spots = mem_zero(sizeof *spots);
	spots->arena = arena_new();
	spots->root = arena_alloc(spots->arena, sizeof *spots->root);
	struct spots_reader r = {.arena = spots->arena,
	    .text = text,
	    .at = text.ptr,
	    .end = text.ptr + text.len,
	    .known = text.ptr,
	    .known_spot = {1, 1}};
	if (!read_text(&r, spots->root)) {
		*ret_fault = r.fault;
		spots_free(&spots);
	}
	return spots;
}
