/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"

struct hash {
	uint8_t bytes[DIGEST_BYTES];
};

static struct hash
digest_of(const char *text)
{
	struct arena *arena = arena_new();
	const struct json *json = json_read(arena, span_str(text));
	struct digest digest;
	struct hash hash;

	if (json == NULL)
		fail_msg("not read: %s", text);
	digest_begin(&digest, SPAN("test"), SPAN(""));
	json_digest(json, NULL, &digest);
	digest_end(&digest, hash.bytes);
	arena_free(&arena);
	return hash;
}

static bool
same(struct hash a, struct hash b)
{
	return memcmp(a.bytes, b.bytes, DIGEST_BYTES) == 0;
}

/*
 * One generator draws the value, another its spelling: two texts of the same
 * value seed have the same value however they are spelled.
 */
struct rng {
	uint64_t state;
};

static unsigned
next(struct rng *rng, unsigned below)
{
	rng->state = rng->state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(rng->state >> 33) % below;
}

struct text {
	char bytes[16384];
	size_t len;
};

static void put(struct text *out, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void
put(struct text *out, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	out->len += (size_t)vsnprintf(out->bytes + out->len,
	    sizeof out->bytes - out->len, fmt, args);
	va_end(args);
	assert_true(out->len < sizeof out->bytes);
}

static void
put_blanks(struct text *out, struct rng *style)
{
	static const char *const blanks[] = {"", "", " ", "\n\t", "\r "};

	if (style)
		put(out, "%s", blanks[next(style, 5)]);
}

static void
put_string(struct text *out, unsigned seed, struct rng *style)
{
	static const struct {
		const char *plain, *escaped;
	} letters[] = {
		{"a", "\\u0061"}, {"b", "\\u0062"}, {"/", "\\/"},
		{"\\n", "\\u000a"}, {"\\\"", "\\u0022"},
		{"\xc3\xa9", "\\u00E9"}, {"\xf0\x9f\x98\x80", "\\ud83D\\uDe00"},
		{"1", "\\u0031"}, {"\\u0000", "\\u0000"},
	};
	struct rng value = {seed};

	put(out, "\"");
	for (unsigned n = next(&value, 4); n > 0; n--) {
		unsigned letter = next(&value, 9);
		put(out, "%s", style && next(style, 2)
			? letters[letter].escaped
			: letters[letter].plain);
	}
	put(out, "\"");
}

static void
put_number(struct text *out, unsigned seed, struct rng *style)
{
	struct rng value = {seed};
	/* None ends with 0, so that no two are the same number. */
	unsigned digits = next(&value, 50) * 10 + 1 + next(&value, 9);
	int exponent = (int)next(&value, 7) - 3;

	put(out, "%s", next(&value, 2) ? "-" : "");
	switch (style ? next(style, 5) : 0) {
	case 0:
		put(out, "%ue%d", digits, exponent);
		break;
	case 1:
		put(out, "%u000E%d", digits, exponent - 3);
		break;
	case 2:
		put(out, "0.%08ue%+d", digits, exponent + 8);
		break;
	case 3:
		put(out, "%u.00e%d", digits, exponent);
		break;
	default:
		put(out, "%u.%u00e%03d", digits / 10, digits % 10,
		    exponent + 1);
		break;
	}
}

static void put_value(
    struct text *out, unsigned seed, unsigned depth, struct rng *style);

static void
put_members(
    struct text *out, unsigned seed, unsigned depth, struct rng *style)
{
	struct rng value = {seed};
	unsigned count = next(&value, 5);
	unsigned order[5] = {0, 1, 2, 3, 4};
	unsigned seeds[5];

	for (unsigned i = 0; i < count; i++)
		seeds[i] = next(&value, 1 << 20);
	for (unsigned i = count; style && i > 1; i--) {
		unsigned j = next(style, i), k = order[i - 1];
		order[i - 1] = order[j];
		order[j] = k;
	}
	put(out, "{");
	for (unsigned i = 0; i < count; i++) {
		put(out, "%s", i ? "," : "");
		put_blanks(out, style);
		bool coded = style && next(style, 2);
		put(out, coded ? "\"\\u006%u\"" : "\"%c\"",
		    coded ? order[i] + 1 : 'a' + order[i]);
		put_blanks(out, style);
		put(out, ":");
		put_blanks(out, style);
		put_value(out, seeds[order[i]], depth + 1, style);
		put_blanks(out, style);
	}
	put(out, "}");
}

static void
put_value(struct text *out, unsigned seed, unsigned depth, struct rng *style)
{
	static const char *const words[] = {"null", "true", "false"};
	struct rng value = {seed};
	unsigned kind = next(&value, depth < 4 ? 8 : 4);
	unsigned inner = next(&value, 1 << 20);

	if (kind == 0) {
		put(out, "%s", words[inner % 3]);
	} else if (kind == 1) {
		put_string(out, inner, style);
	} else if (kind <= 3) {
		put_number(out, inner, style);
	} else if (kind <= 5) {
		put_members(out, inner, depth, style);
	} else {
		put(out, "[");
		for (unsigned n = next(&value, 4), i = 0; i < n; i++) {
			put(out, "%s", i ? "," : "");
			put_blanks(out, style);
			put_value(out, next(&value, 1 << 20), depth + 1, style);
			put_blanks(out, style);
		}
		put(out, "]");
	}
}

static void
random_values_keep_their_digest_in_any_spelling(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 2000; seed++) {
		struct text plain = {.len = 0};
		put_value(&plain, seed * 7919, 0, NULL);
		struct hash hash = digest_of(plain.bytes);
		for (unsigned n = 1; n <= 3; n++) {
			struct text other = {.len = 0};
			struct rng style = {seed * 31 + n};
			put_value(&other, seed * 7919, 0, &style);
			if (!same(hash, digest_of(other.bytes)))
				fail_msg("seed %u: %s is not %s", seed,
				    plain.bytes, other.bytes);
		}
	}
}

struct sample {
	struct hash hash;
	char *text; /* in the plain style, one for each value */
};

static int
compare_samples(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return memcmp(x->hash.bytes, y->hash.bytes, DIGEST_BYTES);
}

static void
random_values_that_differ_have_different_digests(void **state)
{
	enum { COUNT = 5000 };
	struct sample *samples = mem_zero(COUNT * sizeof *samples);
	size_t repeated = 0;

	(void)state;
	for (unsigned i = 0; i < COUNT; i++) {
		struct text plain = {.len = 0};
		put_value(&plain, (i + 1) * 104729, 1, NULL);
		samples[i].hash = digest_of(plain.bytes);
		samples[i].text = mem_str(span_str(plain.bytes));
	}
	qsort(samples, COUNT, sizeof *samples, compare_samples);
	for (size_t i = 1; i < COUNT; i++) {
		if (!same(samples[i - 1].hash, samples[i].hash))
			continue;
		assert_string_equal(samples[i - 1].text, samples[i].text);
		repeated++;
	}
	/* Many were compared, and not all are the same. */
	assert_true(repeated < COUNT / 2);
	for (size_t i = 0; i < COUNT; i++)
		free(samples[i].text);
	free(samples);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    random_values_keep_their_digest_in_any_spelling),
		cmocka_unit_test(
		    random_values_that_differ_have_different_digests),
	};
	return cmocka_run_group_tests_name("json_random", tests, NULL, NULL);
}
