/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/ascii.h"
#include "base/field.h"
#include "base/swar.h"

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

size_t
field_token_bytes(struct span s)
{
	size_t i = 0, n = 8;
	while (n == 8 && s.len - i >= 8)
		i += n = swar_name_bytes(swar_at(s.ptr + i));
	/* The last ones, together with some that were read before. */
	if (n == 8 && i > 0 && i < s.len &&
	    swar_name_bytes(swar_at(s.ptr + s.len - 8)) == 8)
		return s.len;
	while (i < s.len && is_token_byte[(unsigned char)s.ptr[i]])
		i++;
	return i;
}

bool
field_is_token(struct span s)
{
	return s.len > 0 && field_token_bytes(s) == s.len;
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

enum {
	REQUEST_FIELDS = sizeof request_fields / sizeof *request_fields,
	CHAINS = 64,
};

/* The fields of a chain, each by its number, from 1 on; 0 ends it. */
static uint8_t chain_first[CHAINS], chain_next[REQUEST_FIELDS + 1];

/* Names end with letters, whose capitals differ in a bit that is left out. */
static size_t
chain_of(struct span name)
{
	unsigned char last = (unsigned char)name.ptr[name.len - 1];
	return (name.len + 7u * (last & 0x1f)) % CHAINS;
}

__attribute__((constructor)) static void
know_fields(void)
{
	for (uint8_t i = 1; i <= REQUEST_FIELDS; i++) {
		size_t chain = chain_of(request_fields[i - 1].name);
		chain_next[i] = chain_first[chain];
		chain_first[chain] = i;
	}
}

static enum field_kind
find_kind(struct span name, bool same(struct span a, struct span b))
{
	uint8_t i = name.len > 0 ? chain_first[chain_of(name)] : 0;
	for (; i > 0; i = chain_next[i])
		if (same(request_fields[i - 1].name, name))
			return request_fields[i - 1].kind;
	return FIELD_OTHER;
}

enum field_kind
field_kind(struct span name)
{
	return find_kind(name, span_ieq);
}

enum field_kind
field_kind_met(struct span name)
{
	return find_kind(name, field_names_meet);
}

size_t
field_value_bytes(struct span s)
{
	size_t i = 0, n = 8;
	while (n == 8 && s.len - i >= 8)
		i += n = swar_printable_bytes(swar_at(s.ptr + i));
	if (n == 8 && i > 0 && i < s.len &&
	    swar_printable_bytes(swar_at(s.ptr + s.len - 8)) == 8)
		return s.len;
	for (; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return i;
	}
	return i;
}

bool
field_is_visible(struct span s)
{
	size_t i = 0;
	while (s.len - i >= 8 && swar_printable_bytes(swar_at(s.ptr + i)) == 8)
		i += 8;
	while (i < s.len && s.ptr[i] >= ' ' && s.ptr[i] < 0x7f)
		i++;
	return i == s.len && !span_has(s, ' ');
}

bool
field_credentials(struct span value, struct span scheme, struct span *ret_rest)
{
	size_t len = field_token_bytes(value);
	if (!span_ieq(span_of(value.ptr, len), scheme))
		return false;
	while (len < value.len && value.ptr[len] == ' ')
		len++;
	*ret_rest = span_from(value, len);
	return true;
}

bool
field_is_value(struct span s)
{
	return field_value_bytes(s) == s.len;
}
