/* SPDX-License-Identifier: BSD-2-Clause */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "base/decimal.h"
#include "base/json.h"
#include "fuzz/fuzz.h"

/*
 * JSON by value, against jansson, which reads the configuration.  Both accept
 * the same texts, and a text that jansson writes from what it has read has the
 * value that it was read from, in whatever order its members are.  Numbers have
 * one spelling, which means the same number.
 */
struct hash {
	uint8_t bytes[DIGEST_BYTES];
};

/* False: to us it is not JSON. */
static bool
hash_of(struct span text, struct hash *ret_hash)
{
	struct arena *arena = arena_new();
	const struct json *json = json_read(arena, text);
	struct digest digest;

	if (json != NULL) {
		digest_begin(&digest, SPAN("fuzz"), SPAN(""));
		json_digest(json, NULL, &digest);
		digest_end(&digest, ret_hash->bytes);
	}
	arena_free(&arena);
	return json != NULL;
}

static bool
same(struct hash a, struct hash b)
{
	return !memcmp(a.bytes, b.bytes, DIGEST_BYTES);
}

static unsigned
larger(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

/* How deep it is nested; *exact: it has no number that jansson rounds. */
static unsigned
look(json_t *json, bool *exact)
{
	unsigned depth = 0;
	const char *name;
	json_t *item;
	size_t i;

	if (json_is_real(json))
		*exact = false;
	json_array_foreach(json, i, item)
		depth = larger(depth, look(item, exact));
	json_object_foreach(json, name, item)
		depth = larger(depth, look(item, exact));
	return depth + (json_is_array(json) || json_is_object(json));
}

static void
has_that_value(json_t *json, size_t flags, struct hash hash)
{
	char *text = json_dumps(json, flags | JSON_ENCODE_ANY);
	struct hash again;

	must(text != NULL);
	must(hash_of(span_str(text), &again));
	must(same(hash, again));
	free(text);
}

static void
against_jansson(struct span input)
{
	json_error_t error;
	struct hash hash;
	bool exact = true;
	bool ours = hash_of(input, &hash);
	/* jansson takes a NUL between two tokens for the end of the text. */
	if (fuzz_has(input, span_of("", 1))) {
		must(!ours);
		return;
	}
	json_t *json = json_loadb(input.ptr, input.len,
	    JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);

	if (json == NULL) {
		/* Whether jansson cannot represent it. */
		enum json_error_code code = json_error_code(&error);
		must(!ours || code == json_error_numeric_overflow ||
		    code == json_error_null_byte_in_key);
		return;
	}
	unsigned depth = look(json, &exact);
	must(ours == (depth <= JSON_DEPTH));
	if (ours && exact) {
		has_that_value(json, JSON_SORT_KEYS, hash);
		has_that_value(json, JSON_COMPACT | JSON_ESCAPE_SLASH, hash);
		has_that_value(json, JSON_INDENT(2) | JSON_ENSURE_ASCII, hash);
	}
	json_decref(json);
}

/* --- numbers --- */

static bool
is_number(struct span text)
{
	struct arena *arena = arena_new();
	bool number = text.len > 0 &&
	    (text.ptr[0] == '-' ||
		(text.ptr[0] >= '0' && text.ptr[0] <= '9')) &&
	    json_read(arena, text) != NULL;

	arena_free(&arena);
	return number && !fuzz_has(text, SPAN(" \t\r\n"));
}

static struct span
spelling_of(struct arena *arena, struct span number)
{
	struct span spelling;
	must(decimal_take(arena, &number, &spelling) && number.len == 0);
	return spelling;
}

static void
has_one_spelling(struct span text)
{
	struct arena *arena = arena_new();
	struct span one = spelling_of(arena, text);
	struct span again = spelling_of(arena, one);

	must(is_number(one));
	must(span_eq(one, again));
	must(one.len <= text.len + 24);
	char *x = mem_str(text), *y = mem_str(one);
	must(strtod(x, NULL) == strtod(y, NULL));
	free(x);
	free(y);
	/* The same number, written otherwise. */
	if (!fuzz_has(text, SPAN("eE"))) {
		struct span longer = arena_printf(arena, "%.*s%se0",
		    SPAN_FMT(text), fuzz_has(text, SPAN(".")) ? "00" : ".00");
		must(span_eq(spelling_of(arena, longer), one));
	}
	arena_free(&arena);
}

void
fuzz_json(struct span input)
{
	against_jansson(input);
	if (is_number(input))
		has_one_spelling(input);
}
