/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/ascii.h"
#include "base/field.h"
#include "base/word.h"

/* The bytes of a token (RFC 9110, section 5.6.2). */
static const bool is_token_byte[256] = {
    ['!'] = true,
    ['#' ... '\''] = true,
    ['*'] = true,
    ['+'] = true,
    ['-'] = true,
    ['.'] = true,
    ['0' ... '9'] = true,
    ['A' ... 'Z'] = true,
    ['^' ... 'z'] = true,
    ['|'] = true,
    ['~'] = true,
};

bool
field_is_token(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!is_token_byte[(unsigned char)s.ptr[i]])
			return false;
	return s.len > 0;
}

/* Letters of a token differ from their capitals by one bit. */
static char
cgi_byte(char c)
{
	if (c == '_')
		return '-';
	return ascii_is_alpha(c) ? (char)(c | 0x20) : c;
}

bool
field_names_meet(struct span a, struct span b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++)
		if (cgi_byte(a.ptr[i]) != cgi_byte(b.ptr[i]))
			return false;
	return true;
}

static const struct {
	enum field_kind kind;
	struct span name;
} request_fields[] = {
#define REQUEST_FIELD(kind, name) {FIELD_##kind, {name, sizeof(name) - 1}},
#include "tbl/request_fields.h"
#undef REQUEST_FIELD
};

enum { REQUEST_FIELDS = sizeof request_fields / sizeof *request_fields };

enum field_kind
field_kind(struct span name)
{
	for (size_t i = 0; i < REQUEST_FIELDS; i++)
		if (span_ieq(request_fields[i].name, name))
			return request_fields[i].kind;
	return FIELD_OTHER;
}

enum field_kind
field_kind_met(struct span name)
{
	for (size_t i = 0; i < REQUEST_FIELDS; i++)
		if (field_names_meet(request_fields[i].name, name))
			return request_fields[i].kind;
	return FIELD_OTHER;
}

/* No control among eight bytes. */
static bool
are_plain(const char *bytes)
{
	uint64_t word = word_at(bytes);
	return !word_may_be_below(word, 0x20) && !word_may_have(word, 0x7f);
}

bool
field_is_value(struct span s)
{
	size_t i = 0;
	while (s.len - i >= 8 && are_plain(s.ptr + i))
		i += 8;
	for (; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}
