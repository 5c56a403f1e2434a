/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/ascii.h"
#include "base/utf8.h"
#include "conf/jsonc/comments.h"
#include "conf/jsonc/spots_private.h"

struct spot
spots_text_at(struct spots_reader *r, const char *byte)
{
	if (byte < r->known) {
		r->known = r->text.ptr;
		r->known_spot = (struct spot){1, 1};
	}
	for (; r->known < byte; r->known++) {
		if (*r->known == '\n') {
			r->known_spot.line++;
			r->known_spot.column = 1;
		} else if ((*r->known & 0xc0) != 0x80) {
			r->known_spot.column++;
		}
	}
	return r->known_spot;
}

bool
spots_text_wrong(struct spots_reader *r, const char *byte, const char *words)
{
	if (r->fault.words == NULL)
		r->fault = (struct spots_fault){
		    .at = spots_text_at(r, byte), .words = words};
	return false;
}

static const char words_nul[] = "a NUL byte stands here: take it out";

/*
 * What is nothing of JSON, and is easily overlooked, wherever it stands; NULL:
 * something else is there.
 */
static const char *
wrong_between(const struct spots_reader *r)
{
	static const char *const blanks[] = {
	    "\u00a0", "\u2009", "\u200b", "\u202f", "\u2060", "\u3000",
	    "\ufeff"};
	static const char *const marks[] = {
	    "<<<<<<<", "|||||||", "=======", ">>>>>>>"};
	struct span rest = span_of(r->at, (size_t)(r->end - r->at));
	bool begins = r->at == r->text.ptr || r->at[-1] == '\n';
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (begins && span_starts(rest, span_str(marks[i])))
			return "a merge has left this line: keep one of the "
			       "versions between <<<<<<<, ======= and >>>>>>>, "
			       "and take these lines out";
	for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++)
		if (span_starts(rest, span_str(blanks[i])))
			return "an invisible character that is no blank of "
			       "JSON, such as a no-break space, stands here: "
			       "take it out";
	return rest.len > 0 && rest.ptr[0] == '\0' ? words_nul : NULL;
}

/* A comment is text, too: no other program would read the file otherwise. */
static bool
check_comment(struct spots_reader *r, size_t len)
{
	struct span rest = span_of(r->at, len);
	const char *nul = memchr(rest.ptr, '\0', rest.len);
	size_t n = 1;
	while (n > 0 && rest.len > 0) {
		n = utf8_length(rest);
		rest = span_from(rest, n);
	}
	if (rest.len > 0)
		return spots_text_wrong(r, rest.ptr,
		    "this comment is not UTF-8: save the file as UTF-8");
	return nul == NULL || spots_text_wrong(r, nul, words_nul);
}

bool
spots_text_skip(struct spots_reader *r)
{
	while (r->at < r->end) {
		bool closed;
		size_t n = comments_length(
		    r->at, (size_t)(r->end - r->at), &closed);
		if (!closed)
			return spots_text_wrong(
			    r, r->at, "this comment is never closed");
		if (!check_comment(r, n))
			return false;
		if (n == 0 && memchr(" \t\r\n", *r->at, 4) == NULL) {
			const char *words = wrong_between(r);
			return words == NULL ||
			    spots_text_wrong(r, r->at, words);
		}
		r->at += n > 0 ? n : 1;
	}
	return true;
}

/* --- strings --- */

static const char *
wrong_byte(char c)
{
	if (c == '\n' || c == '\r')
		return "this string has no closing quote on its line";
	if (c == '\t')
		return "a tab in a string is written \\t";
	return "a string has a control character, which is written \\u00XX";
}

/* The bytes of an escape; 0: it is none. */
static size_t
escape_length(const char *at, const char *end)
{
	if (end - at < 2)
		return 0;
	if (at[1] != 'u')
		return at[1] != '\0' && strchr("\"\\/bfnrt", at[1]) ? 2 : 0;
	if (end - at < 6)
		return 0;
	for (int i = 2; i < 6; i++)
		if (ascii_hex_value(at[i]) < 0)
			return 0;
	return 6;
}

bool
spots_text_string(struct spots_reader *r, struct span *ret_spelled)
{
	const char *begin = r->at++;
	while (r->at < r->end && *r->at != '"') {
		size_t n = 1;
		if ((unsigned char)*r->at < 0x20)
			return spots_text_wrong(r, begin, wrong_byte(*r->at));
		if (*r->at == '\\')
			n = escape_length(r->at, r->end);
		if (n == 0)
			return spots_text_wrong(r, r->at,
			    "a backslash in a string is written \\\\");
		if (n == 6 && !memcmp(r->at, "\\u0000", n))
			return spots_text_wrong(
			    r, r->at, "no string has a \\u0000");
		r->at += n;
	}
	if (r->at == r->end)
		return spots_text_wrong(
		    r, begin, "this string has no closing quote");
	r->at++;
	*ret_spelled = span_of(begin, (size_t)(r->at - begin));
	if (!utf8_is_valid(*ret_spelled))
		return spots_text_wrong(r, begin,
		    "this string is not UTF-8: save the file as UTF-8");
	return true;
}

/* --- numbers and words --- */

static size_t
digits_length(struct span s)
{
	size_t n = 0;
	while (n < s.len && ascii_is_digit(s.ptr[n]))
		n++;
	return n;
}

/* One digit at least, taken off. */
static bool
cut_digits(struct span *s)
{
	size_t n = digits_length(*s);
	*s = span_from(*s, n);
	return n > 0;
}

static bool
take_one_of(struct span *s, const char *chars)
{
	if (s->len == 0 || s->ptr[0] == '\0' ||
	    strchr(chars, s->ptr[0]) == NULL)
		return false;
	*s = span_from(*s, 1);
	return true;
}

static bool
is_json_number(struct span s)
{
	(void)take_one_of(&s, "-");
	if (!take_one_of(&s, "0") && !cut_digits(&s))
		return false;
	if (take_one_of(&s, ".") && !cut_digits(&s))
		return false;
	if (take_one_of(&s, "eE")) {
		(void)take_one_of(&s, "+-");
		if (!cut_digits(&s))
			return false;
	}
	return s.len == 0;
}

static bool
is_constant(struct span s)
{
	return span_eq(s, SPAN("true")) || span_eq(s, SPAN("false")) ||
	    span_eq(s, SPAN("null"));
}

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
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (span_ieq(s, span_str(known[i].word)))
			return known[i].words;
	if (s.len > 1 && s.ptr[0] == '0' && digits_length(s) == s.len)
		return "a number does not begin with 0; text stands in double "
		       "quotes";
	if (s.len > 2 && s.ptr[0] == '0' && (s.ptr[1] | 0x20) == 'x')
		return "a number of JSON is decimal; text stands in double "
		       "quotes";
	return "this is neither a number, true, false nor null; text stands in "
	       "double quotes";
}

bool
spots_text_is_typographic(const struct spots_reader *r)
{
	static const char *const quotes[] = {
	    "\u201c", "\u201d", "\u201e", "\u2018", "\u2019", "\u201a",
	    "\u00ab", "\u00bb"};
	struct span rest = span_of(r->at, (size_t)(r->end - r->at));
	for (size_t i = 0; i < sizeof quotes / sizeof *quotes; i++)
		if (span_starts(rest, span_str(quotes[i])))
			return true;
	return false;
}

bool
spots_text_word(struct spots_reader *r)
{
	const char *begin = r->at;
	if (spots_text_is_typographic(r))
		return spots_text_wrong(r, begin,
		    "text stands in plain double quotes (\"), not in "
		    "typographic ones");
	while (r->at < r->end && memchr(" \t\r\n,:[]{}\"", *r->at, 11) == NULL)
		r->at++;
	struct span word = span_of(begin, (size_t)(r->at - begin));
	/* "1/" and "1//": where a comment begins, the word has its end. */
	for (size_t i = 0; i + 1 < word.len; i++)
		if (word.ptr[i] == '/' &&
		    (word.ptr[i + 1] == '/' || word.ptr[i + 1] == '*'))
			word.len = i;
	r->at = begin + word.len;
	if (is_json_number(word) || is_constant(word))
		return true;
	if (word.len == 0)
		return spots_text_wrong(r, begin, "a value is missing here");
	if (*begin == '\'')
		return spots_text_wrong(r, begin,
		    "text stands in double quotes, not in single ones");
	if (*begin == '#')
		return spots_text_wrong(r, begin, "a comment begins with //");
	return spots_text_wrong(r, begin, wrong_word(word));
}
