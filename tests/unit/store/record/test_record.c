/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/mem.h"
#include "store/record/answer_codec.h"
#include "store/redis/redis_clock.h"
#include "store/redis/sha1.h"

/* Stored answers and heads of records, read from any bytes. */

enum { BUDGET = 4 * 1024 * 1024 };

static struct budget budget;
static ZSTD_CCtx *compress;
static ZSTD_DCtx *decompress;

static int
set_up(void **state)
{
	(void)state;
	atomic_init(&budget.used, 0);
	atomic_init(&budget.limit, BUDGET);
	compress = ZSTD_createCCtx();
	decompress = ZSTD_createDCtx();
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	ZSTD_freeCCtx(compress);
	ZSTD_freeDCtx(decompress);
	assert_int_equal(atomic_load(&budget.used), 0);
	return 0;
}

/* --- answers --- */

static struct answer *
make_answer(int status, const struct field *list, size_t count,
    struct span body_bytes, struct span request_id)
{
	struct field copy[16];
	if (count > 0)
		memcpy(copy, list, count * sizeof *list);
	struct fields fields = {copy, count};
	struct body body = {.budget = &budget};
	assert_int_equal(
	    body_append(&body, body_bytes.ptr, body_bytes.len), 0);
	return answer_new(status, &fields, &body, request_id);
}

static void
answers_are_equal(const struct answer *a, const struct answer *b)
{
	assert_int_equal(a->status, b->status);
	assert_int_equal(a->not_kept, b->not_kept);
	assert_int_equal(a->head_length, b->head_length);
	assert_true(span_eq(a->request_id, b->request_id));
	assert_int_equal(a->fields.count, b->fields.count);
	for (size_t i = 0; i < a->fields.count; i++) {
		assert_true(span_eq(
		    a->fields.list[i].name, b->fields.list[i].name));
		assert_true(span_eq(
		    a->fields.list[i].value, b->fields.list[i].value));
	}
	assert_true(span_eq(body_span(&a->body), body_span(&b->body)));
}

/* Stores and reads it back, compressed or not; drops the answer. */
static size_t
survives(struct answer *answer, ZSTD_CCtx *zstd)
{
	char *bytes;
	size_t len;
	struct answer *again = NULL;
	answer_codec_encode(answer, zstd, &bytes, &len);
	assert_int_equal(answer_codec_decode(span_of(bytes, len), decompress,
			     &budget, &again), 0);
	answers_are_equal(answer, again);
	answer_unref(&again);
	answer_unref(&answer);
	free(bytes);
	return len;
}

static void
an_answer_comes_back_as_it_was(void **state)
{
	(void)state;
	static const struct field fields[] = {
	    {SPAN("Content-Type"), SPAN("application/json")},
	    {SPAN("X-Empty"), SPAN("")},
	    {SPAN("Set-Cookie"), SPAN("a=1; b: 2")},
	    {SPAN("Set-Cookie"), SPAN("c=3")},
	    {SPAN("x"), SPAN("\t \x80\xff : 12 3")},
	};
	static const char binary[] = "\0\r\n\n0 1\n: \xff\0";
	for (size_t count = 0; count <= 5; count++) {
		survives(make_answer(201, fields, count, SPAN("{\"a\":1}"),
			     SPAN("req-1")), compress);
		survives(make_answer(500, fields, count, SPAN(""), SPAN("")),
		    NULL);
		survives(make_answer(299, fields, count,
			     span_of(binary, sizeof binary), SPAN("")),
		    compress);
	}
}

static void
what_an_answer_says_besides_comes_back(void **state)
{
	(void)state;
	struct answer *answer =
	    make_answer(304, NULL, 0, SPAN(""), SPAN("id with: 1 2 3"));
	answer->head_length = 0;
	survives(answer, NULL);
	answer = make_answer(200, NULL, 0, SPAN(""), SPAN("x"));
	answer->head_length = 123456789012345678;
	answer->not_kept = true;
	survives(answer, compress);
}

static void
large_answers_are_compressed_where_that_helps(void **state)
{
	(void)state;
	size_t len = 300000;
	char *text = mem_zero(len), *noise = mem_zero(len);
	memset(text, 'x', len);
	randombytes_buf(noise, len);
	struct span t = span_of(text, len), n = span_of(noise, len);
	assert_true(survives(make_answer(200, NULL, 0, t, SPAN("")),
			compress) < 1000);
	assert_true(survives(make_answer(200, NULL, 0, t, SPAN("")), NULL) >
	    len);
	assert_true(survives(make_answer(200, NULL, 0, n, SPAN("")),
			compress) > len);
	t.len = 400;
	assert_true(survives(make_answer(200, NULL, 0, t, SPAN("")),
			compress) > 400);
	free(text);
	free(noise);
}

static void
an_answer_beyond_the_budget_is_refused(void **state)
{
	(void)state;
	char *text = mem_zero(100000);
	for (int i = 0; i < 2; i++) {
		struct answer *answer = make_answer(
		    200, NULL, 0, span_of(text, 100000), SPAN("id"));
		struct answer *again = NULL;
		char *bytes;
		size_t len;
		answer_codec_encode(answer, i ? compress : NULL, &bytes, &len);
		answer_unref(&answer);
		atomic_store(&budget.limit, 99999);
		assert_int_equal(
		    answer_codec_decode(
			span_of(bytes, len), decompress, &budget, &again),
		    E_NO_MEMORY);
		assert_null(again);
		atomic_store(&budget.limit, BUDGET);
		free(bytes);
	}
	free(text);
}

static void
malformed_answers_are_refused(void **state)
{
	(void)state;
	static const struct span texts[] = {
	    SPAN(""),
	    SPAN("p"),
	    SPAN("p\n"),
	    SPAN("q\n200 - 0 0 0 0\n\n"),
	    SPAN("P\n200 - 0 0 0 0\n\n"),
	    SPAN("p\n199 - 0 0 0 0\n\n"),
	    SPAN("p\n600 - 0 0 0 0\n\n"),
	    SPAN("p\n-200 - 0 0 0 0\n\n"),
	    SPAN("p\n+200 - 0 0 0 0\n\n"),
	    SPAN("p\n 200 - 0 0 0 0\n\n"),
	    SPAN("p\n200 x 0 0 0 0\n\n"),
	    SPAN("p\n200 -1 0 0 0 0\n\n"),
	    SPAN("p\n200 - 2 0 0 0\n\n"),
	    SPAN("p\n200 - 0 0 1 0\n\n"),
	    SPAN("p\n200 - 0 0 0 0\nx"),
	    SPAN("p\n200 - 0 0 0 0"),
	    SPAN("p\n200 - 0 0 0 1\n\n"),
	    SPAN("p\n200 - 0 0 0 1\n\nxy"),
	    SPAN("p\n200 - 0 1 0 0\n\n"),
	    SPAN("p\n200 - 0 1 0 0\n\n0 1\n: x\n"),
	    SPAN("p\n200 - 0 1 0 0\n\n1 2\na: x\n"),
	    SPAN("p\n200 - 0 1 0 0\n\n1 1\na:x\n\n"),
	    SPAN("p\n200 - 0 1 0 0\n\n1 1\na: x "),
	    SPAN("p\n200 - 0 1 0 0\n\n1 3\na: x\ny\n"),
	    SPAN("p\n200 - 0 1 0 0\n\n1 3\na: x\ry\n"),
	    SPAN("p\n200 - 0 1 0 0\n\n1 3\na: x\0y\n"),
	    SPAN("p\n200 - 0 1 0 0\n\n3 1\na\nb: x\n"),
	    SPAN("p\n200 - 0 0 3 0\na\nb\n"),
	    SPAN("p\n200 - 0 999999999999999999 0 0\n\n1 1\na: x\n"),
	    SPAN("p\n200 - 0 9999999999999999999 0 0\n\n"),
	    SPAN("p\n200 - 0 1 0 0\n\n999999999999999999 1\na: x\n"),
	    SPAN("p\n200 - 0 1 0 0\n\n1 999999999999999999\na: x\n"),
	    SPAN("z"),
	    SPAN("z "),
	    SPAN("z 10\n"),
	    SPAN("z 0\n"),
	    SPAN("z x\n"),
	    SPAN("z 999999999999999999\nabc"),
	    SPAN("z 17\np\n200 - 0 0 0 0\n\n"),
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct answer *answer = NULL;
		assert_int_equal(answer_codec_decode(texts[i], decompress,
				     &budget, &answer), E_MALFORMED);
		assert_null(answer);
	}
}

/* The sanitizer catches a decoder that reads beyond its text. */
static int
decode_copy(struct span text)
{
	char *copy = mem_copy(text.ptr, text.len);
	struct answer *answer = NULL;
	int error = answer_codec_decode(
	    span_of(copy, text.len), decompress, &budget, &answer);
	assert_true(error == 0 || error == E_MALFORMED ||
	    error == E_NO_MEMORY);
	assert_int_equal(error == 0, answer != NULL);
	answer_unref(&answer);
	free(copy);
	return error;
}

static void
encode_sample(ZSTD_CCtx *zstd, char **ret_bytes, size_t *ret_len)
{
	static const struct field fields[] = {
	    {SPAN("Content-Type"), SPAN("text/plain")},
	    {SPAN("X-Empty"), SPAN("")},
	};
	char text[1024];
	memset(text, 'a', sizeof text);
	struct answer *answer = make_answer(
	    201, fields, 2, span_of(text, sizeof text), SPAN("request"));
	answer_codec_encode(answer, zstd, ret_bytes, ret_len);
	answer_unref(&answer);
}

/* Behind a compressed answer: its status, in a frame that may be missing. */
enum { STATUS_FRAME = 11 };

static void
a_compressed_answer_ends_with_its_status(void **state)
{
	(void)state;
	char *bytes;
	size_t len;
	encode_sample(compress, &bytes, &len);
	assert_memory_equal(bytes + len - STATUS_FRAME,
	    "P*M\x18\3\0\0\0" "201", STATUS_FRAME);
	/* As earlier releases wrote it. */
	assert_int_equal(
	    decode_copy(span_of(bytes, len - STATUS_FRAME)), 0);
	free(bytes);
}

static void
an_answer_cut_anywhere_is_refused(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		char *bytes;
		size_t len;
		encode_sample(i ? compress : NULL, &bytes, &len);
		for (size_t cut = 0; cut < len; cut++)
			if (i == 0 || cut != len - STATUS_FRAME)
				assert_int_equal(
				    decode_copy(span_of(bytes, cut)),
				    E_MALFORMED);
		assert_int_equal(decode_copy(span_of(bytes, len)), 0);
		free(bytes);
	}
}

static uint32_t seed = 4711;

static uint32_t
dice(uint32_t sides)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % sides;
}

static void
no_mutation_makes_the_decoder_stumble(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		char *bytes;
		size_t len;
		encode_sample(i ? compress : NULL, &bytes, &len);
		for (int round = 0; round < 20000; round++) {
			char *mutant = mem_copy(bytes, len);
			/* Most of what can go wrong is in the head. */
			size_t reach = dice(2) && len > 100 ? 100 : len;
			for (uint32_t n = 1 + dice(4); n > 0; n--)
				mutant[dice((uint32_t)reach)] =
				    dice(2) ? (char)dice(256)
					    : "0129 -:\npz"[dice(10)];
			decode_copy(span_of(mutant, len - dice(3)));
			free(mutant);
		}
		free(bytes);
	}
}

/* --- heads --- */

#define OWNER "AAAAAAAAAAAAAAAAAAAAAA"
#define PRINT "BBBBBBBBBBBBBBBBBBBBBB"
#define TIMES "176372280000017637228000011763722800002"
#define HEAD "o1Ut000003000002" TIMES OWNER PRINT "\n"

static void
a_record_is_taken_apart(void **state)
{
	(void)state;
	struct span value = SPAN(HEAD "charges\nthe rest\n");
	struct record record;
	assert_int_equal(record_read(value, &record), 0);
	assert_int_equal(record.state, STATE_UNKNOWN);
	assert_int_equal(record.reason, REASON_TIMEOUT);
	assert_int_equal(record.attempt, 3);
	assert_int_equal(record.tries, 2);
	assert_int_equal(record.created_ms, 1763722800000);
	assert_int_equal(record.changed_ms, 1763722800001);
	assert_int_equal(record.lease_until_ms, 1763722800002);
	assert_true(span_eq(record.owner, SPAN(OWNER)));
	assert_true(span_eq(record.fingerprint, SPAN(PRINT)));
	assert_true(span_eq(record.from.route, SPAN("charges")));
	assert_true(span_eq(record.rest, SPAN("the rest\n")));
}

static void
a_damaged_head_is_refused(void **state)
{
	(void)state;
	struct record record;
	char value[] = HEAD "charges\n";
	struct span whole = span_of(value, sizeof value - 1);
	assert_int_equal(record_read(whole, &record), 0);
	for (size_t len = 0; len < whole.len; len++) {
		char *copy = mem_copy(value, len);
		assert_int_equal(
		    record_read(span_of(copy, len), &record), E_MALFORMED);
		free(copy);
	}
	for (size_t at = 0; at < RECORD_HEAD_BYTES; at++) {
		char was = value[at];
		value[at] = '\xff';
		bool token = at >= 55 && at < 99;
		assert_int_equal(
		    record_read(whole, &record), token ? 0 : E_MALFORMED);
		value[at] = was;
	}
}

static void
reasons_have_letters_and_the_contract_s_words(void **state)
{
	(void)state;
	enum reason reason;
	for (int i = 0; i < REASON_COUNT_; i++) {
		char letter = reason_letters[i];
		assert_true(reason_of(letter, &reason));
		assert_int_equal(reason, i);
	}
	assert_true(reason_of('L', &reason));
	assert_string_equal(reason_words[reason], "lease-expired");
	assert_false(reason_of('?', &reason));
}

/* --- small things --- */

static void
sha1_is_that_of_rfc_3174(void **state)
{
	(void)state;
	static const struct {
		struct span text;
		const char *hex;
	} cases[] = {
	    {SPAN("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d"},
	    {SPAN("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
		"84983e441c3bd26ebaae4aa1f95129e5e54670f1"},
	    {SPAN(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
	    {SPAN("01234567012345670123456701234567"
		  "01234567012345670123456701234567"),
		"e0c094e867ef46c350ef54a7f59dd60bed92ae83"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint8_t hash[SHA1_BYTES];
		char hex[SHA1_HEX + 1];
		sha1(cases[i].text, hash);
		hex_encode(hash, sizeof hash, hex);
		assert_string_equal(hex, cases[i].hex);
	}
}

static void
redis_clock_is_never_guessed_too_late(void **state)
{
	(void)state;
	struct redis_clock clock = {0};
	/* Sent at 1 s, received at 1.4 s: Redis' clock says 1000 s. */
	redis_clock_heard(&clock, 1000000, 1000000, 1400000);
	assert_int_equal(redis_clock_ms(&clock, 1400000), 1000000);
	/* A quicker reply gives a better bound. */
	assert_int_equal(
	    redis_clock_latest_ms(&clock, 1400000), 1000000 + 401);
	redis_clock_heard(&clock, 1000600, 1900000, 1910000);
	assert_int_equal(redis_clock_ms(&clock, 1910000), 1000600);
	assert_int_equal(
	    redis_clock_latest_ms(&clock, 1910000), 1000600 + 11);
	/* A slower one changes nothing. */
	redis_clock_heard(&clock, 1000700, 2000000, 2400000);
	assert_int_equal(redis_clock_ms(&clock, 1910000), 1000600);
	assert_int_equal(
	    redis_clock_latest_ms(&clock, 1910000), 1000600 + 11);
	/* Set back by an hour, which contradicts what was known. */
	redis_clock_heard(&clock, 1000900 - 3600000, 2200000, 2500000);
	assert_int_equal(
	    redis_clock_ms(&clock, 2500000), 1000900 - 3600000);
	/* Set forward again. */
	assert_int_equal(clock.jumped_us, 0);
	redis_clock_heard(&clock, 1001900, 3200000, 3300000);
	assert_int_equal(redis_clock_ms(&clock, 3300000), 1001900);
	assert_int_equal(clock.jumped_us, 3300000);
	/* A little ahead is no jump. */
	redis_clock_heard(&clock, 1003300, 4200000, 4300000);
	assert_int_equal(clock.jumped_us, 3300000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_answer_comes_back_as_it_was),
	    cmocka_unit_test(what_an_answer_says_besides_comes_back),
	    cmocka_unit_test(large_answers_are_compressed_where_that_helps),
	    cmocka_unit_test(an_answer_beyond_the_budget_is_refused),
	    cmocka_unit_test(malformed_answers_are_refused),
	    cmocka_unit_test(a_compressed_answer_ends_with_its_status),
	    cmocka_unit_test(an_answer_cut_anywhere_is_refused),
	    cmocka_unit_test(no_mutation_makes_the_decoder_stumble),
	    cmocka_unit_test(a_record_is_taken_apart),
	    cmocka_unit_test(a_damaged_head_is_refused),
	    cmocka_unit_test(reasons_have_letters_and_the_contract_s_words),
	    cmocka_unit_test(sha1_is_that_of_rfc_3174),
	    cmocka_unit_test(redis_clock_is_never_guessed_too_late),
	};
	return cmocka_run_group_tests_name("record", tests, set_up, tear_down);
}
