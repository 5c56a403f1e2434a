/* SPDX-License-Identifier: BSD-2-Clause */
#include "fuzz/fuzz.h"
#include "gate/key/key.h"

/*
 * What is true of a key however it is spelled: it has printable ASCII only and
 * an allowed length; its spellings are one key; a stricter format accepts some
 * of the same keys; and a second field is refused.
 */
enum { MAX_LENGTH = 255 };

static struct conf_idempotency
policy_of(enum key_format format, size_t max_length)
{
	static char first[] = "Idempotency-Key", second[] = "PayPal-Request-Id";
	static char *names[] = {first, second};

	return (struct conf_idempotency){
		.headers = {names, 2},
		.key_format = format,
		.max_length = (int64_t)max_length,
	};
}

static enum key_verdict
find(struct arena *arena, enum key_format format, size_t max_length,
    struct span value, struct key *ret_key)
{
	const struct conf_idempotency policy = policy_of(format, max_length);
	struct field list[] = {
		{SPAN("Accept"), SPAN("*/*")},
		{SPAN("idempotency-KEY"), value},
	};
	const struct fields fields = {list, 2};
	enum key_verdict verdict = key_find(arena, &policy, &fields, ret_key);

	must(verdict != KEY_MISSING);
	must(verdict == KEY_FOUND || strlen(ret_key->message) > 0);
	return verdict;
}

static bool
is_key(struct arena *arena, enum key_format format, struct span value,
    struct span key)
{
	struct key found;

	return find(arena, format, MAX_LENGTH, value, &found) == KEY_FOUND &&
	    span_eq(found.bytes, key);
}

/* As a string of RFC 8941 (section 3.3.3), with what follows it. */
static struct span
quoted(struct arena *arena, struct span key, const char *behind)
{
	char *text = arena_alloc(arena, 2 * key.len + strlen(behind) + 3);
	size_t len = 0;

	text[len++] = '"';
	for (size_t i = 0; i < key.len; i++) {
		if (key.ptr[i] == '"' || key.ptr[i] == '\\')
			text[len++] = '\\';
		text[len++] = key.ptr[i];
	}
	text[len++] = '"';
	memcpy(text + len, behind, strlen(behind));
	return span_of(text, len + strlen(behind));
}

static bool
is_uuid(struct span key)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	bool valid = key.len == 36;

	for (size_t i = 0; valid && i < key.len; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		valid = dash ? key.ptr[i] == '-'
			     : memchr(digits, key.ptr[i], 22) != NULL;
	}
	return valid;
}

static void
two_are_refused(struct arena *arena, struct span value)
{
	static const char *const second[] = {
		"Idempotency-Key", "IDEMPOTENCY-KEY", "paypal-request-id"};
	const struct conf_idempotency policy = policy_of(KEY_ANY, MAX_LENGTH);
	struct key key;

	for (size_t i = 0; i < 3; i++) {
		struct field list[] = {
			{SPAN("Idempotency-Key"), value},
			{span_str(second[i]), value},
		};
		const struct fields fields = {list, 2};
		must(key_find(arena, &policy, &fields, &key) == KEY_INVALID);
	}
}

/* The string alone, or with parameters after it. */
static void
is_all_there_is(struct arena *arena, struct span value, struct span key)
{
	struct span string = quoted(arena, key, "");

	must(span_starts(value, string));
	must(value.len == string.len || value.ptr[string.len] == ';');
}

static void
lengths_are_exact(struct arena *arena, struct span value, size_t len)
{
	struct key key;

	must(find(arena, KEY_ANY, len, value, &key) == KEY_FOUND);
	must(find(arena, KEY_ANY, len - 1, value, &key) == KEY_INVALID);
}

static void
all_spellings_are_one_key(struct arena *arena, struct span key)
{
	must(is_key(arena, KEY_ANY, quoted(arena, key, ""), key));
	must(is_key(arena, KEY_QUOTED, quoted(arena, key, ""), key));
	must(is_key(arena, KEY_ANY, quoted(arena, key, "; a;b=?1"), key));
	/* A bare key has none of these; with a quote it might be a string. */
	if (!fuzz_has(key, SPAN(" ,\";")))
		must(is_key(arena, KEY_ANY, key, key));
}

void
fuzz_key(struct span input)
{
	struct arena *arena = arena_new();
	struct span value = span_trim(input);
	struct key key, other;

	enum key_verdict verdict =
	    find(arena, KEY_ANY, MAX_LENGTH, value, &key);
	enum key_verdict as_string =
	    find(arena, KEY_QUOTED, MAX_LENGTH, value, &other);
	enum key_verdict as_uuid =
	    find(arena, KEY_UUID, MAX_LENGTH, value, &other);
	two_are_refused(arena, value);
	if (verdict == KEY_FOUND) {
		struct span k = key.bytes;
		must(k.len >= 1 && k.len <= MAX_LENGTH);
		for (size_t i = 0; i < k.len; i++)
			must(k.ptr[i] >= 0x20 && k.ptr[i] <= 0x7e);
		if (value.ptr[0] == '"')
			is_all_there_is(arena, value, k);
		else
			must(span_eq(k, value));
		must((as_string == KEY_FOUND) == (value.ptr[0] == '"'));
		must((as_uuid == KEY_FOUND) == is_uuid(k));
		lengths_are_exact(arena, value, k.len);
		all_spellings_are_one_key(arena, k);
	} else {
		must(as_string == KEY_INVALID && as_uuid == KEY_INVALID);
	}
	arena_free(&arena);
}
