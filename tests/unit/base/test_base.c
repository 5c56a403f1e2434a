/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/answer.h"
#include "base/arena.h"
#include "base/ascii.h"
#include "base/base64.h"
#include "base/body.h"
#include "base/digest.h"
#include "base/digits.h"
#include "base/error.h"
#include "base/field.h"
#include "base/rfc3339.h"

#define assert_span(s, text)                                                  \
	do {                                                                   \
		assert_int_equal((s).len, strlen(text));                       \
		assert_memory_equal((s).ptr, text, strlen(text));              \
	} while (0)

static void
a_list_is_cut_at_its_separators(void **state)
{
	(void)state;
	struct span list = SPAN(" a, b\t,,c "), piece;
	const char *const want[] = {"a", "b", "", "c"};
	for (size_t i = 0; i < 4; i++) {
		assert_true(span_next(&list, ',', &piece));
		assert_span(piece, want[i]);
	}
	assert_false(span_next(&list, ',', &piece));
}

static void
an_arena_holds_small_and_large_things(void **state)
{
	(void)state;
	struct arena *arena = arena_new();
	for (size_t size = 1; size < 100000; size = size * 3 + 1) {
		char *ptr = arena_alloc(arena, size);
		assert_int_equal((uintptr_t)ptr % 16, 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(ptr[i], 0);
		memset(ptr, 0xff, size);
	}
	assert_int_equal(arena_dup(arena, SPAN("x\0y")).len, 3);
	assert_span(arena_printf(arena, "%d-%s", 7, "up"), "7-up");
	struct span wide = arena_printf(arena, "%500d", 1);
	assert_int_equal(wide.len, 500);
	assert_int_equal(wide.ptr[499], '1');
	arena_free(&arena);
	assert_null(arena);
	arena_free(&arena);
}

static void
an_arena_lives_until_its_last_reference(void **state)
{
	(void)state;
	struct arena *arena = arena_new();
	struct arena *other = arena_ref(arena);
	struct span text = arena_dup(arena, SPAN("still here"));
	arena_free(&arena);
	assert_span(text, "still here");
	arena_free(&other);
}

static void
bodies_are_counted_and_refused_beyond_the_budget(void **state)
{
	(void)state;
	struct budget budget = {.limit = 2000};
	struct body a = {.budget = &budget}, b = a;
	char bytes[1500] = {1};
	assert_int_equal(body_append(&a, bytes, sizeof bytes), 0);
	assert_int_equal(body_append(&b, bytes, sizeof bytes), E_NO_MEMORY);
	assert_int_equal(b.len, 0);
	assert_true(budget.used >= 1500 && budget.used <= 2000);
	body_move(&b, &a);
	assert_int_equal(b.len, sizeof bytes);
	assert_int_equal(a.size, 0);
	body_clear(&a);
	assert_true(budget.used >= 1500);
	body_clear(&b);
	assert_int_equal(budget.used, 0);
}

static void
what_somebody_waits_for_is_left_free(void **state)
{
	(void)state;
	struct budget budget = {.limit = 1 << 20};
	struct body a = {.budget = &budget}, b = a;
	size_t wanted = 0;
	budget_want(&budget, &wanted, 600000);
	assert_int_equal(body_reserve(&a, 500000, BUDGET_COMMON), E_NO_MEMORY);
	assert_int_equal(body_reserve(&a, 300000, BUDGET_SPARE), E_NO_MEMORY);
	assert_int_equal(body_reserve(&a, 400000, BUDGET_COMMON), 0);
	assert_int_equal(body_reserve(&b, 600000, BUDGET_WANTED), 0);
	budget_want(&budget, &wanted, 0);
	body_clear(&b);
	/* A few bytes at a time may be taken of it. */
	budget_want(&budget, &wanted, 1 << 20);
	assert_int_equal(body_reserve(&b, 10000, BUDGET_COMMON), 0);
	assert_true(budget_has(&budget, 10000));
	assert_false(budget_has(&budget, 50000));
	budget_want(&budget, &wanted, 0);
	assert_true(budget_has(&budget, 50000));
	body_clear(&a);
	body_clear(&b);
	assert_int_equal(budget.used + budget.wanted, 0);
}

static void
one_at_a_time_has_the_turn(void **state)
{
	(void)state;
	struct budget budget = {.limit = 800};
	struct body body = {.budget = &budget};
	assert_false(atomic_exchange(&budget.turn, true));
	assert_true(atomic_exchange(&budget.turn, true));
	assert_int_equal(body_reserve(&body, 701, BUDGET_TURN), E_NO_MEMORY);
	assert_int_equal(body_reserve(&body, 700, BUDGET_TURN), 0);
	atomic_store(&budget.turn, false);
	assert_false(atomic_exchange(&budget.turn, true));
	body_clear(&body);
}

static void
what_a_body_does_not_need_is_given_back(void **state)
{
	(void)state;
	struct budget budget = {.limit = 1000};
	struct body body = {.budget = &budget};
	body_trim(&body);
	assert_int_equal(body_reserve(&body, 900, BUDGET_COMMON), 0);
	assert_int_equal(body_append(&body, "abc", 3), 0);
	body_trim(&body);
	assert_int_equal(budget.used, 3);
	assert_true(span_eq(body_span(&body), SPAN("abc")));
	body.len = 0;
	body_trim(&body);
	assert_int_equal(budget.used, 0);
	assert_int_equal(body_append(&body, "abc", 3), 0);
	body_clear(&body);
	assert_int_equal(budget.used, 0);
}

static void
a_body_grows_to_the_last_byte_of_the_budget(void **state)
{
	(void)state;
	struct budget budget = {.limit = 1000};
	struct body body = {.budget = &budget};
	for (int i = 0; i < 1000; i++)
		assert_int_equal(body_append(&body, "x", 1), 0);
	assert_int_equal(body_append(&body, "x", 1), E_NO_MEMORY);
	assert_int_equal(body.len, 1000);
	body_clear(&body);
}

static void
parts_of_a_digest_do_not_blur(void **state)
{
	(void)state;
	static const struct {
		const char *label, *a, *b, *secret;
	} inputs[] = {
	    {"x", "ab", "c", ""},
	    {"x", "a", "bc", ""},
	    {"x", "abc", "", ""},
	    {"x", "", "abc", ""},
	    {"y", "ab", "c", ""},
	    {"x", "ab", "c", "secret"},
	    {"x", "ab", "c", "other secret"},
	};
	enum { N = sizeof inputs / sizeof inputs[0] };
	uint8_t hashes[N][DIGEST_BYTES];
	for (int i = 0; i < N; i++) {
		struct digest digest;
		digest_begin(&digest, span_str(inputs[i].label),
		    span_str(inputs[i].secret));
		digest_part(&digest, span_str(inputs[i].a));
		digest_part(&digest, span_str(inputs[i].b));
		digest_end(&digest, hashes[i]);
		for (int k = 0; k < i; k++)
			assert_memory_not_equal(
			    hashes[i], hashes[k], DIGEST_BYTES);
	}
}

/*
 * Records have names that were made so: BLAKE2b of 16 bytes, by Python's
 * hashlib, over each part with its length in front, 8 bytes, the lowest first.
 */
static void
a_digest_is_what_others_make_of_its_parts(void **state)
{
	(void)state;
	struct digest digest;
	uint8_t hash[DIGEST_BYTES];
	char text[300], hex[DIGEST_HEX + 1];
	digest_begin(&digest, SPAN("label"), SPAN(""));
	digest_part(&digest, SPAN(""));
	digest_part(&digest, SPAN("a"));
	digest_part(&digest, SPAN("bc"));
	digest_end(&digest, hash);
	hex_encode(hash, sizeof hash, hex);
	assert_string_equal(hex, "c15493b528d18a22eaa90d775c9fa50e");
	memset(text, 'x', sizeof text);
	digest_begin(&digest, SPAN("label"), SPAN(""));
	for (size_t len = 0; len < sizeof text; len += 7)
		digest_part(&digest, span_of(text, len));
	digest_end(&digest, hash);
	hex_encode(hash, sizeof hash, hex);
	assert_string_equal(hex, "a395e183071dffc6c95fd59b618ccce8");
}

static void
hex_goes_there_and_back(void **state)
{
	(void)state;
	uint8_t bytes[4] = {0x00, 0x7f, 0xa5, 0xff}, back[4];
	char hex[9], base64[7];
	hex_encode(bytes, 4, hex);
	assert_string_equal(hex, "007fa5ff");
	assert_true(hex_decode(SPAN("007FA5ff"), back, 4));
	assert_memory_equal(bytes, back, 4);
	assert_false(hex_decode(SPAN("007fa5f"), back, 4));
	assert_false(hex_decode(SPAN("007fa5fg"), back, 4));
	for (int i = 0; i < 256; i++) {
		char wanted[3];
		uint8_t byte = (uint8_t)i;
		snprintf(wanted, sizeof wanted, "%02x", (unsigned)i);
		hex_encode(&byte, 1, hex);
		assert_string_equal(hex, wanted);
	}
	hex_encode(bytes, 0, hex);
	assert_string_equal(hex, "");
	base64_url_encode(bytes, 4, base64);
	assert_string_equal(base64, "AH-l_w");
}

static void
base64_is_read_whole_or_not_at_all(void **state)
{
	static const struct {
		const char *text;
		bool standard, url; /* it is one of these */
	} table[] = {
	    {"", true, true}, {"AH+l/w==", true, false},
	    {"AH-l_w", false, true}, {"AH+l/w", false, false},
	    {"AH-l_w==", false, false}, {"AH-l_x", false, false},
	    {"AH-l_w ", false, false}, {"AH-l=w", false, false},
	};
	struct arena *arena = arena_new();
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct span bytes = SPAN("as it was");
		struct span text = span_str(table[i].text);
		assert_int_equal(base64_decode(arena, text, BASE64, &bytes),
		    table[i].standard);
		assert_int_equal(base64_decode(arena, text, BASE64_URL, &bytes),
		    table[i].url);
		assert_int_equal(bytes.len,
		    text.len == 0                           ? 0
			: table[i].standard || table[i].url ? 4
							    : 9);
	}
	arena_free(&arena);
}

static void
times_are_written_as_rfc_3339_has_them(void **state)
{
	char text[RFC3339_MAX];
	(void)state;
	assert_string_equal(
	    rfc3339_write(0, text), "1970-01-01T00:00:00.000Z");
	assert_string_equal(rfc3339_write(INT64_C(1795900500123), text),
	    "2026-11-28T21:15:00.123Z");
	assert_string_equal(rfc3339_write(INT64_C(253402300799999), text),
	    "9999-12-31T23:59:59.999Z");
	assert_string_equal(
	    rfc3339_write(INT64_C(253402300800000), text), "");
	assert_string_equal(rfc3339_write(INT64_MAX, text), "");
	assert_string_equal(rfc3339_write(-1, text), "");
}

static void
times_are_read_as_rfc_3339_has_them(void **state)
{
	static const struct {
		const char *text;
		int64_t seconds;
		const char *fraction;
	} rows[] = {
	    {"1970-01-01T00:00:00Z", 0, ""},
	    {"0000-01-01t00:00:00z", INT64_C(-62167219200), ""},
	    {"9999-12-31T23:59:60.500-23:59", INT64_C(253402387140), "500"},
	    {"2000-02-29T12:00:00.0123456789+02:30", 951816600, "0123456789"},
	    {"1999-12-31T23:59:59Z", 946684799, ""},
	};
	static const char *const wrong[] = {"", "2026-02-29T00:00:00Z",
	    "1900-02-29T00:00:00Z", "2026-11-22T24:00:00Z",
	    "2026-11-22T00:00:61Z", "2026-11-22 00:00:00Z",
	    "2026-11-22T00:00:00", "2026-11-22T00:00:00.Z",
	    "2026-11-22T00:00:00Zx", "2026-11-22T00:00:00+24:00"};
	int64_t seconds, ms;
	struct span fraction;
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_true(rfc3339_parse(
		    span_str(rows[i].text), &seconds, &fraction));
		assert_int_equal(seconds, rows[i].seconds);
		assert_true(span_eq(fraction, span_str(rows[i].fraction)));
	}
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_false(rfc3339_parse(
		    span_str(wrong[i]), &seconds, &fraction));
	assert_true(rfc3339_read(SPAN("1970-01-01T00:00:01.5Z"), &ms));
	assert_int_equal(ms, 1500);
	assert_false(rfc3339_read(SPAN("1969-12-31T23:59:59Z"), &ms));
}

/* RFC 4648, section 10, and every digit. */
static void
base64_has_what_libsodium_has(void **state)
{
	(void)state;
	uint8_t bytes[256];
	for (int i = 0; i < 256; i++)
		bytes[i] = (uint8_t)(i * 37);
	for (size_t len = 0; len <= sizeof bytes; len++) {
		char wanted[400], got[400];
		sodium_bin2base64(wanted, sizeof wanted, bytes, len,
		    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
		memset(got, '?', sizeof got);
		base64_url_encode(bytes, len, got);
		assert_string_equal(got, wanted);
	}
}

static void
tokens_and_values_are_told_from_other_bytes(void **state)
{
	(void)state;
	assert_true(field_is_token(SPAN("Idempotency-Key")));
	assert_true(field_is_token(SPAN("!#$%&'*+-.^_`|~09azAZ")));
	assert_false(field_is_token(SPAN("")));
	for (int c = 0; c < 256; c++) {
		char byte = (char)c;
		struct span s = span_of(&byte, 1);
		bool value = c == '\t' || (c >= 0x20 && c != 0x7f);
		assert_int_equal(field_is_value(s), value);
		if (c <= 0x20 || c >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", c))
			assert_false(field_is_token(s));
		else
			assert_true(field_is_token(s));
	}
}

static void
an_answer_owns_copies_of_what_it_is_made_of(void **state)
{
	(void)state;
	struct budget budget = {.limit = 10000};
	struct body body = {.budget = &budget};
	char name[] = "Set-Cookie", value[] = "a=1";
	struct field list[] = {{span_str(name), span_str(value)},
	    {span_str(name), SPAN("")}};
	struct fields fields = {list, 2};
	assert_int_equal(body_append(&body, "\0\1", 2), 0);
	struct answer *answer =
	    answer_new(201, &fields, &body, SPAN("request-1"));
	memset(name, 'x', sizeof name - 1);
	memset(value, 'x', sizeof value - 1);

	assert_int_equal(answer->status, 201);
	assert_int_equal(answer->fields.count, 2);
	assert_span(answer->fields.list[0].name, "Set-Cookie");
	assert_span(answer->fields.list[0].value, "a=1");
	assert_int_equal(answer->fields.list[1].value.len, 0);
	assert_span(answer->request_id, "request-1");
	assert_int_equal(answer->body.len, 2);
	assert_null(body.ptr);
	struct answer *other = answer_ref(answer);
	answer_unref(&answer);
	assert_null(answer);
	assert_true(budget.used > 0);
	answer_unref(&other);
	assert_int_equal(budget.used, 0);
}

static void
every_error_has_words(void **state)
{
	(void)state;
	for (int code = ERR_FIRST_ + 1; code < ERR_END_; code++)
		assert_string_not_equal(error_message(code), "unknown failure");
	assert_string_equal(error_message(OK), "success");
	assert_string_equal(error_message(12345), "unknown failure");
}

static void
digits_are_what_printf_writes(void **state)
{
	static const int64_t numbers[] = {0, 7, 10, 99, 100, 1234567890123,
	    -1, -10, INT64_MAX, INT64_MIN};
	(void)state;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		char wanted[32], got[DIGITS_MAX];
		int len = snprintf(
		    wanted, sizeof wanted, "%" PRId64, numbers[i]);
		assert_int_equal(digits_put(got, numbers[i]), len);
		assert_memory_equal(got, wanted, len);
	}
	for (int64_t power = 1; power <= INT64_MAX / 10; power *= 10)
		for (int64_t near = power - 1; near <= power + 1; near++) {
			char wanted[32], got[DIGITS_MAX];
			int len = snprintf(
			    wanted, sizeof wanted, "%" PRId64, near);
			assert_int_equal(digits_put(got, near), len);
			assert_memory_equal(got, wanted, len);
		}
	char padded[6];
	digits_pad(padded, sizeof padded, 42);
	assert_memory_equal(padded, "000042", 6);
	digits_pad(padded, sizeof padded, 123456);
	assert_memory_equal(padded, "123456", 6);
}

static void
digits_are_read_up_to_a_bound(void **state)
{
	static const struct {
		const char *text;
		int64_t max;
		int64_t number; /* -1: it is none */
	} rows[] = {{"0", 0, 0}, {"7", 9, 7}, {"007", 9, 7}, {"10", 9, -1},
	    {"9", 8, -1}, {"65535", 65535, 65535}, {"65536", 65535, -1},
	    {"9223372036854775807", INT64_MAX, INT64_MAX},
	    {"9223372036854775808", INT64_MAX, -1},
	    {"99999999999999999999999", INT64_MAX, -1}, {"", 9, -1},
	    {"-1", 9, -1}, {"+1", 9, -1}, {" 1", 9, -1}, {"1 ", 9, -1},
	    {"1a", 9, -1}, {"0x1", 99, -1}};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		int64_t number = -1;
		struct span text = span_str(rows[i].text);
		assert_int_equal(digits_read(text, rows[i].max, &number),
		    rows[i].number >= 0);
		assert_int_equal(number, rows[i].number);
	}
}

static void
digits_are_taken_off_the_front(void **state)
{
	int64_t number;
	(void)state;
	struct span text = span_str("17s");
	assert_int_equal(digits_take(&text, 99, &number), 2);
	assert_int_equal(number, 17);
	assert_true(span_eq(text, SPAN("s")));
	assert_int_equal(digits_take(&text, 99, &number), 0);
	text = span_str("123456");
	assert_int_equal(digits_take(&text, 99, &number), 6);
	assert_int_equal(number, 99);
	assert_int_equal(text.len, 0);
	text = span_str("99999999999999999999");
	assert_int_equal(digits_take(&text, INT64_MAX, &number), 20);
	assert_int_equal(number, INT64_MAX);
}

static void
hex_digits_have_values(void **state)
{
	(void)state;
	for (int c = 0; c < 256; c++) {
		const char *digits = "0123456789abcdef0123456789ABCDEF";
		const char *at = c != 0 ? strchr(digits, c) : NULL;
		assert_int_equal(ascii_hex_value((char)c),
		    at != NULL ? (at - digits) % 16 : -1);
	}
}

static void
controls_are_those_of_ascii(void **state)
{
	(void)state;
	for (int c = 0; c < 256; c++) {
		char text[] = {'a', (char)c, 'b'};
		assert_int_equal(ascii_has_controls(span_of(text, 3)),
		    c < 0x20 || c == 0x7f);
	}
	assert_false(ascii_has_controls(SPAN("")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(digits_are_what_printf_writes),
	    cmocka_unit_test(digits_are_read_up_to_a_bound),
	    cmocka_unit_test(digits_are_taken_off_the_front),
	    cmocka_unit_test(hex_digits_have_values),
	    cmocka_unit_test(controls_are_those_of_ascii),
	    cmocka_unit_test(a_list_is_cut_at_its_separators),
	    cmocka_unit_test(an_arena_holds_small_and_large_things),
	    cmocka_unit_test(an_arena_lives_until_its_last_reference),
	    cmocka_unit_test(bodies_are_counted_and_refused_beyond_the_budget),
	    cmocka_unit_test(what_somebody_waits_for_is_left_free),
	    cmocka_unit_test(one_at_a_time_has_the_turn),
	    cmocka_unit_test(what_a_body_does_not_need_is_given_back),
	    cmocka_unit_test(a_body_grows_to_the_last_byte_of_the_budget),
	    cmocka_unit_test(parts_of_a_digest_do_not_blur),
	    cmocka_unit_test(a_digest_is_what_others_make_of_its_parts),
	    cmocka_unit_test(hex_goes_there_and_back),
	    cmocka_unit_test(base64_has_what_libsodium_has),
	    cmocka_unit_test(base64_is_read_whole_or_not_at_all),
	    cmocka_unit_test(times_are_written_as_rfc_3339_has_them),
	    cmocka_unit_test(times_are_read_as_rfc_3339_has_them),
	    cmocka_unit_test(tokens_and_values_are_told_from_other_bytes),
	    cmocka_unit_test(an_answer_owns_copies_of_what_it_is_made_of),
	    cmocka_unit_test(every_error_has_words),
	};
	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
