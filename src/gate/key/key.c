/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/ascii.h"
#include "base/json.h"
#include "base/test_build.h"
#include "gate/key/key.h"

/* --- structured fields (RFC 8941, section 4.2): a string as an item --- */

static bool
take_char(struct span *in, char c)
{
	if (in->len == 0 || in->ptr[0] != c)
		return false;
	*in = span_from(*in, 1);
	return true;
}

static size_t
skip_decimals(struct span *in)
{
	size_t n = 0;

	while (n < in->len && ascii_is_digit(in->ptr[n]))
		n++;
	*in = span_from(*in, n);
	return n;
}

/* A number has at most 15 digits, or 12, a point and 3 (section 4.2.4). */
static bool
skip_number(struct span *in)
{
	take_char(in, '-');
	size_t whole = skip_decimals(in);
	if (!take_char(in, '.'))
		return whole >= 1 && whole <= 15;
	size_t fraction = skip_decimals(in);
	return whole >= 1 && whole <= 12 && fraction >= 1 && fraction <= 3;
}

/* Takes a string; its text goes to out unless that is NULL (section 4.2.5). */
static bool
take_quoted(struct span *in, char *out, size_t *ret_len)
{
	size_t len = 0;

	if (!take_char(in, '"'))
		return false;
	while (!take_char(in, '"')) {
		if (take_char(in, '\\') &&
		    (in->len == 0 ||
			(in->ptr[0] != '"' && in->ptr[0] != '\\')))
			return false;
		if (in->len == 0 || in->ptr[0] < 0x20 || in->ptr[0] > 0x7e)
			return false;
		if (out)
			out[len] = in->ptr[0];
		len++;
		*in = span_from(*in, 1);
	}
	*ret_len = len;
	return true;
}

/* Skips a number, a string, a token, bytes or a boolean (section 4.2.3.1). */
static bool
skip_bare_item(struct span *in)
{
	size_t len;
	char c = in->len ? in->ptr[0] : '\0';
	if (c == '-' || ascii_is_digit(c))
		return skip_number(in);
	if (c == '"')
		return take_quoted(in, NULL, &len);
	if (c == '*' || ascii_is_alpha(c)) {
		while (in->len &&
		    (in->ptr[0] == ':' || in->ptr[0] == '/' ||
			field_is_token(span_of(in->ptr, 1))))
			*in = span_from(*in, 1);
		return true;
	}
	if (!take_char(in, ':'))
		return take_char(in, '?') &&
		    (take_char(in, '0') || take_char(in, '1'));
	while (in->len &&
	    (ascii_is_alpha(in->ptr[0]) || ascii_is_digit(in->ptr[0]) ||
		in->ptr[0] == '+' || in->ptr[0] == '/' || in->ptr[0] == '='))
		*in = span_from(*in, 1);
	return take_char(in, ':');
}

/* Reads a string and any parameters, which mean nothing here; no more. */
static bool
read_item(struct arena *arena, struct span value, struct span *ret_string)
{
	char *out = arena_alloc(arena, value.len);
	size_t len;

	if (!take_quoted(&value, out, &len))
		return false;
	/* Parameters (section 4.2.3.2). */
	while (take_char(&value, ';')) {
		while (take_char(&value, ' '))
			;
		if (value.len == 0 ||
		    (value.ptr[0] != '*' && !ascii_is_lower(value.ptr[0])))
			return false;
		while (value.len &&
		    (ascii_is_lower(value.ptr[0]) ||
			ascii_is_digit(value.ptr[0]) ||
			(value.ptr[0] != '\0' &&
			    strchr("_-.*", value.ptr[0]))))
			value = span_from(value, 1);
		if (take_char(&value, '=') && !skip_bare_item(&value))
			return false;
	}
	if (value.len)
		return false;
	*ret_string = span_of(out, len);
	return true;
}

/* --- found among the fields --- */

static bool
is_bare_key(struct span s)
{
	/* Visible, and neither a comma, a double quote nor a semicolon. */
	static const bool is_bare_byte[256] = {
	    ['!'] = true,
	    ['#' ... '+'] = true,
	    ['-' ... ':'] = true,
	    ['<' ... '~'] = true,
	};
	bool bare = true;

	for (size_t i = 0; i < s.len; i++)
		bare &= is_bare_byte[(unsigned char)s.ptr[i]];
	return bare;
}

/* True of 8-4-4-4-12 hex digits; in another case they are another key. */
static bool
is_uuid(struct span s)
{
	static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	if (s.len != sizeof(shape) - 1)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		if (shape[i] == '-' ? c != '-' : ascii_hex_value(c) < 0)
			return false;
	}
	return true;
}

/* Returns a sentence on what is wrong with a field's value; NULL: nothing. */
static const char *
check_key(struct arena *arena, const struct conf_idempotency *policy,
    struct span value, struct span *ret_key)
{
	struct span key = value;

	if (value.len == 0)
		return "The idempotency key is empty.";
	if (value.ptr[0] == '"') {
		if (!read_item(arena, value, &key))
			return "The idempotency key is not a single "
			       "well-formed quoted string (RFC 8941).";
	} else if (policy->key_format == KEY_QUOTED) {
		return "The idempotency key must be a quoted string "
		       "(RFC 8941).";
	} else if (!is_bare_key(value) && INVARIANT(bare_key)) {
		return "An idempotency key without quotes must be visible "
		       "ASCII without spaces, commas, double quotes or "
		       "semicolons.";
	}
	if (key.len == 0)
		return "The idempotency key is empty.";
	if (span_is_dots(key) && INVARIANT(dotless_key))
		return "An idempotency key of one or two dots means another "
		       "place in a path.";
	if (key.len > (size_t)policy->max_length)
		return arena_printf(arena,
		    "The idempotency key is longer than %lld characters.",
		    (long long)policy->max_length).ptr;
	if (key.len < (size_t)policy->min_length)
		return arena_printf(arena,
		    "The idempotency key is shorter than %lld characters.",
		    (long long)policy->min_length).ptr;
	if (policy->key_format == KEY_UUID && !is_uuid(key))
		return "The idempotency key must be a UUID.";
	*ret_key = key;
	return NULL;
}

enum key_verdict
key_find(struct arena *arena, const struct conf_idempotency *policy,
    const struct fields *fields, struct key *ret_key)
{
	const struct strings *names = &policy->headers;
	const struct field *f, *found = NULL;
	bool more = false;
	struct span key;
	/* A name may be listed twice. */
	for (size_t i = 0; i < names->count; i++) {
		size_t at = 0;
		struct span name = span_str(names->list[i]);
		while ((f = fields_next(fields, name, &at)) != NULL) {
			more |= found != NULL && found != f;
			found = f;
		}
	}
	if (more && INVARIANT(one_key)) {
		ret_key->message =
		    "The request has more than one idempotency key.";
		return KEY_INVALID;
	}
	if (found == NULL)
		return KEY_MISSING;
	const char *message = check_key(arena, policy, found->value, &key);
	if (message) {
		ret_key->message = message;
		return KEY_INVALID;
	}
	ret_key->bytes = ret_key->sent = key;
	ret_key->field = *found;
	return KEY_FOUND;
}

/* --- derived from the body --- */

/*
 * Many programs write null, or an empty string, for what they have not set.
 * Were it a value, all requests without an order number would share one key.
 */
static bool
says_nothing(const struct json *value)
{
	struct span text;
	if (value == NULL)
		return true;
	return (json_is_nil(value) ||
		   (json_text(value, &text) && text.len == 0)) &&
	    INVARIANT(derived_of_nothing);
}

void
key_digest_member(struct digest *digest, const struct json_pointer *pointer,
    const struct json *value)
{
	digest_part(digest, SPAN("/"));
	for (size_t s = 0; s < pointer->count; s++) {
		digest_part(digest, SPAN("s"));
		digest_part(digest, pointer->segments[s]);
	}
	digest_part(digest, value != NULL ? SPAN("=") : SPAN("-"));
	if (value != NULL)
		json_digest(value, NULL, digest);
}

bool
key_digest_members(struct arena *scratch, const struct json_pointers *pointers,
    const struct content *body, struct digest *digest)
{
	const struct json *json = content_json(scratch, body);

	if (json == NULL)
		return false;
	for (size_t i = 0; i < pointers->count; i++) {
		const struct json *value = json_at(json, &pointers->list[i]);
		if (says_nothing(value))
			return false;
		key_digest_member(digest, &pointers->list[i], value);
	}
	return true;
}

enum key_verdict
key_derive(struct arena *arena, const struct conf_idempotency *policy,
    const struct content *body, struct key *ret_key)
{
	struct digest digest;
	uint8_t hash[DIGEST_BYTES];
	char hex[DIGEST_HEX + 1];
	bool found = true;

	if (body->bytes.len == 0)
		return KEY_MISSING;
	if (policy->derive_from_body) {
		digest_begin(&digest, SPAN("key of body"), SPAN(""));
		/* A retry packs these anew: the bytes would be others. */
		if (body->decoded || body->kind == CONTENT_UPLOAD)
			content_digest(body, &digest);
		else
			digest_part(&digest, body->sent);
	} else if (policy->derive_from.count > 0) {
		/* A body that is read as JSON takes many times its size. */
		struct arena *scratch = arena_new();
		digest_begin(&digest, SPAN("key of json"), SPAN(""));
		found = key_digest_members(
		    scratch, &policy->derive_from, body, &digest);
		arena_free(&scratch);
	} else {
		return KEY_MISSING;
	}
	if (!found)
		return KEY_MISSING;
	digest_end(&digest, hash);
	hex_encode(hash, sizeof(hash), hex);
	/* No field value has that first byte, so no client sends this key. */
	ret_key->bytes = arena_printf(arena, "\001derived:%s", hex);
	/* Version 8 is for whatever a program makes it of (section 5.8). */
	hash[6] = (uint8_t)(0x80 | (hash[6] & 0x0f));
	hash[8] = (uint8_t)(0x80 | (hash[8] & 0x3f));
	hex_encode(hash, sizeof(hash), hex);
	ret_key->sent = arena_printf(arena, "%.8s-%.4s-%.4s-%.4s-%.12s", hex,
	    hex + 8, hex + 12, hex + 16, hex + 20);
	return KEY_FOUND;
}

struct span
key_members_wrong(struct arena *arena, const char *what,
    const struct json_pointers *pointers, const struct content *body)
{
	struct arena *scratch = arena_new();
	const struct json *json = content_json(scratch, body);
	struct span words = SPAN("");
	if (body->bytes.len == 0)
		words = arena_printf(arena, "%s, because the body of this "
		    "request is empty.", what);
	else if (json == NULL)
		words = arena_printf(arena, "%s, because the body of this "
		    "request is not JSON, or has a member twice.", what);
	/* The first that the body does not say. */
	for (size_t i = 0; i < pointers->count && words.len == 0; i++) {
		const struct json *value = json_at(json, &pointers->list[i]);
		if (!says_nothing(value))
			continue;
		char *name = json_pointer_text(&pointers->list[i]);
		words = arena_printf(arena, "%s, because %s is missing, null "
		    "or empty in this request.", what, name);
		free(name);
	}
	arena_free(&scratch);
	return words;
}
