/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/ascii.h"
#include "base/utf8.h"
#include "conf/jsonc/wrong_private.h"

static const char blanks[] = " \t\r\n";

/* What ends a number, true, false or null. */
static bool
ends_word(char c)
{
	return memchr(" \t\r\n,:[]{}\"", c, 11) != NULL;
}

static bool
starts_with_one(struct span text, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (span_starts(text, span_str(list[i])))
			return true;
	return false;
}
#define STARTS_WITH_ONE(text, list) \
	starts_with_one(text, list, sizeof(list) / sizeof *(list))

/*
 * What is nothing of JSON, and is easily overlooked, wherever it stands; NULL:
 * something else is there.
 */
static const char *
wrong_anywhere(struct span rest, bool begins_line)
{
	static const char *const no_blanks[] = {"\u00a0", "\u2009", "\u200b",
	    "\u202f", "\u2060", "\u3000", "\ufeff"};
	static const char *const marks[] = {
	    "<<<<<<<", "|||||||", "=======", ">>>>>>>"};
	if (begins_line && STARTS_WITH_ONE(rest, marks))
		return "a merge has left this line: keep one of the versions "
		       "between <<<<<<<, ======= and >>>>>>>, and take these "
		       "lines out";
	if (STARTS_WITH_ONE(rest, no_blanks))
		return "an invisible character that is no blank of JSON, such "
		       "as a no-break space, stands here: take it out";
	return rest.len > 0 && rest.ptr[0] == '\0'
	    ? "a NUL byte stands here: take it out"
	    : NULL;
}

/* --- brackets --- */

/* How many blanks its line begins with. */
static size_t
indentation(struct span text, const char *byte)
{
	size_t n = 0;
	while (byte > text.ptr && byte[-1] != '\n')
		byte--;
	while (byte + n < text.ptr + text.len &&
	    (byte[n] == ' ' || byte[n] == '\t'))
		n++;
	return n;
}

/*
 * The bracket that is open at a byte; and the first one whose closing one
 * begins a line of another indentation: its own may be missing.  NULL: none.
 */
static const char *
open_at(struct span text, const char *at, const char **ret_doubted)
{
	const char *open[JSON_DEPTH + 1];
	size_t depth = 0;
	*ret_doubted = NULL;
	for (const char *p = text.ptr; p < at; p++) {
		if (*p == '"') {
			for (p++; p < at && *p != '"'; p++)
				p += *p == '\\';
		} else if (*p == '{' || *p == '[') {
			open[depth++] = p;
		} else if (*p == '}' || *p == ']') {
			const char *begin = open[--depth];
			const char *line = p;
			while (line[-1] == ' ' || line[-1] == '\t')
				line--;
			if (line[-1] == '\n' && *ret_doubted == NULL &&
			    indentation(text, begin) != indentation(text, p))
				*ret_doubted = begin;
		}
	}
	return depth > 0 ? open[depth - 1] : NULL;
}

/* --- strings --- */

/* The bytes of an escape; 0: it is none. */
static size_t
escape_length(struct span s)
{
	if (s.len < 2 || s.ptr[1] == '\0')
		return 0;
	if (s.ptr[1] != 'u')
		return strchr("\"\\/bfnrt", s.ptr[1]) ? 2 : 0;
	for (size_t i = 2; i < 6; i++)
		if (i >= s.len || ascii_hex_value(s.ptr[i]) < 0)
			return 0;
	return 6;
}

static struct wrong
wrong_string(struct span s)
{
	const char *begin = s.ptr;
	for (s = span_from(s, 1); s.len > 0 && *s.ptr != '"';) {
		size_t n = *s.ptr == '\\' ? escape_length(s) : 1;
		if (*s.ptr == '\n' || *s.ptr == '\r')
			return (struct wrong){begin,
			    "this string has no closing quote on its line",
			    NULL};
		if ((unsigned char)*s.ptr < 0x20)
			return (struct wrong){begin, *s.ptr == '\t'
				? "a tab in a string is written \\t"
				: "a string has a control character, which is "
				  "written \\u00XX",
			    NULL};
		if (n == 0)
			return (struct wrong){s.ptr,
			    "a backslash in a string is written \\\\", NULL};
		if (span_starts(s, SPAN("\\u0000")))
			return (struct wrong){
			    s.ptr, "no string has a \\u0000", NULL};
		s = span_from(s, n);
	}
	if (s.len == 0)
		return (struct wrong){
		    begin, "this string has no closing quote", NULL};
	if (!utf8_is_valid(span_of(begin, (size_t)(s.ptr - begin))))
		return (struct wrong){begin,
		    "this string is not UTF-8: save the file as UTF-8", NULL};
	return (struct wrong){begin, "this string has half of a character: "
	    "both escapes are needed, as in \\ud83d\\ude00", NULL};
}

static bool
is_typographic(struct span rest)
{
	static const char *const quotes[] = {"\u201c", "\u201d", "\u201e",
	    "\u2018", "\u2019", "\u201a", "\u00ab", "\u00bb"};
	return STARTS_WITH_ONE(rest, quotes);
}

/* --- words --- */

/* What somebody may have meant by a word that is no value. */
static const char *
wrong_word(struct span s)
{
	static const struct {
		const char *word, *words;
	} known[] = {
	    {"true", "true is written in small letters"},
	    {"false", "false is written in small letters"},
	    {"null", "null is written in small letters"},
	    {"yes", "this is no value of JSON; did you mean true?"},
	    {"on", "this is no value of JSON; did you mean true?"},
	    {"no", "this is no value of JSON; did you mean false?"},
	    {"off", "this is no value of JSON; did you mean false?"},
	    {"none", "this is no value of JSON; did you mean null?"},
	};
	size_t digits = 0;
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (span_ieq(s, span_str(known[i].word)))
			return known[i].words;
	while (digits < s.len && ascii_is_digit(s.ptr[digits]))
		digits++;
	if (s.len == 0)
		return "a value is missing here";
	if (*s.ptr == '\'')
		return "text stands in double quotes, not in single ones";
	if (*s.ptr == '#')
		return "a comment begins with //";
	if (is_typographic(s))
		return "text stands in plain double quotes (\"), not in "
		       "typographic ones";
	if (s.len > 1 && *s.ptr == '0' && digits == s.len)
		return "a number does not begin with 0; text stands in double "
		       "quotes";
	if (s.len > 2 && *s.ptr == '0' && (s.ptr[1] | 0x20) == 'x')
		return "a number of JSON is decimal; text stands in double "
		       "quotes";
	return "this is neither a number, true, false nor null; text stands in "
	       "double quotes";
}

static struct wrong
wrong_value(struct span rest)
{
	size_t len = 0;
	if (rest.len > 0 && *rest.ptr == '"')
		return wrong_string(rest);
	while (len < rest.len && !ends_word(rest.ptr[len]))
		len++;
	return (struct wrong){
	    rest.ptr, wrong_word(span_of(rest.ptr, len)), NULL};
}

/* --- between values --- */

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

static const char *
wrong_end(char c, bool named)
{
	if (c == ']')
		return "this object is closed by \"}\", not by \"]\"";
	if (c == '}')
		return "this list is closed by \"]\", not by \"}\"";
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

/* By whether it is doubted, and whether it is a brace. */
static const char *const never_closed[2][2] = {
    {"this [ is never closed", "this { is never closed"},
    {"this [ seems to have no ], by the indentation",
	"this { seems to have no }, by the indentation"}};

/* --- all of it --- */

struct wrong
wrong_of(struct span text, const struct json_fault *fault)
{
	const char *at = fault->at, *end = text.ptr + text.len;
	const char *before = at, *doubted;
	const char *open = open_at(text, at, &doubted);
	struct span rest = span_of(at, (size_t)(end - at));
	char c = at < end ? *at : '\0';
	bool named = open != NULL && *open == '{';
	bool begins_line = at == text.ptr || at[-1] == '\n';
	struct wrong wrong = {at, wrong_anywhere(rest, begins_line), NULL};
	while (before > text.ptr && memchr(blanks, before[-1], 4) != NULL)
		before--;
	char last = before > text.ptr ? *--before : '\0';
	if (wrong.words != NULL)
		return wrong;
	if (at == end && fault->want != JSON_WANTS_COLON && last != ':') {
		at = doubted != NULL ? doubted : open;
		return (struct wrong){
		    at, never_closed[doubted != NULL][*at == '{'], NULL};
	}
	if (last == ',' && c == (named ? '}' : ']'))
		return (struct wrong){before, named
			? "there is a comma too many here, before the }"
			: "there is a comma too many here, before the ]", NULL};
	switch (fault->want) {
	case JSON_WANTS_VALUE:
		return wrong_value(rest);
	case JSON_WANTS_NAME:
		if (c == '"')
			return wrong_string(rest);
		wrong.words = is_typographic(rest)
		    ? "a member's name stands in plain double quotes (\"), not "
		      "in typographic ones"
		    : wrong_name(c);
		break;
	case JSON_WANTS_COLON:
		wrong.words = "\":\" is missing between a member's name and "
			      "its value";
		return wrong;
	case JSON_WANTS_COMMA:
		/* "24h" is no number with something behind it. */
		if (before + 1 == at && !ends_word(c) && !ends_word(last)) {
			while (!ends_word(at[-1]))
				at--;
			return wrong_value(span_of(at, (size_t)(end - at)));
		}
		wrong.words = wrong_end(c, named);
		break;
	case JSON_WANTS_END:
		wrong.words = "the JSON ends before this; is there a closing "
			      "bracket too many?";
		return wrong;
	case JSON_WANTS_NO_MORE_DEPTH:
		wrong.words = "this is nested too deep";
		return wrong;
	}
	if (strchr(fault->want == JSON_WANTS_NAME ? "{[]" : "]}", c) != NULL &&
	    c != '\0')
		wrong.opened = doubted != NULL ? doubted : open;
	return wrong;
}

struct wrong
wrong_from_the_start(struct span text)
{
	const char *at = text.ptr, *end = text.ptr + text.len;
	struct wrong wrong = {at, NULL, NULL};
	/* The mark of UTF-16, or ASCII there. */
	if (text.len >= 2 &&
	    (!memcmp(at, "\xff\xfe", 2) || !memcmp(at, "\xfe\xff", 2) ||
		(at[0] == '\0') != (at[1] == '\0'))) {
		wrong.words = "the file is in UTF-16, as some editors call "
			      "\"Unicode\"; it must be in UTF-8";
		return wrong;
	}
	while (at < end && memchr(blanks, *at, 4) != NULL)
		at++;
	struct span rest = span_of(at, (size_t)(end - at));
	if (text.len == 0) {
		wrong.words = "the file is empty";
	} else if (at == end) {
		bool returns = memchr(text.ptr, '\r', text.len) != NULL &&
		    memchr(text.ptr, '\n', text.len) == NULL;
		wrong.words = returns
		    ? "lines end with a line feed; with a carriage return "
		      "alone, as here, all that follows a // is comment"
		    : "the file has only blanks and comments";
	} else if (*at != '{' && *at != '[') {
		wrong.at = at;
		wrong.words = wrong_anywhere(
		    rest, at == text.ptr || at[-1] == '\n');
		if (wrong.words == NULL)
			wrong.words = *at == '#'
			    ? "a comment begins with //"
			    : "a configuration begins with {";
	}
	return wrong;
}
