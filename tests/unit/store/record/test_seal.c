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
#include "store/record/seal.h"

/* Stored answers at rest: what opens, and everything that does not. */

static uint8_t key_bytes[3][CONF_ENCRYPTION_KEY_BYTES];
static char ids[][8] = {"2027", "2026", "a.B_c-9"};
static struct conf_encryption_key key_list[] = {
    {ids[0], key_bytes[0]},
    {ids[1], key_bytes[1]},
    {ids[2], key_bytes[2]},
};
static const struct conf_store all = {
    .encryption_keys = key_list, .n_encryption_keys = 3};
static const struct conf_store first = {
    .encryption_keys = key_list, .n_encryption_keys = 1};
static const struct conf_store second = {
    .encryption_keys = key_list + 1, .n_encryption_keys = 1};

static const struct key_id name = {"a record's name"};
static char fingerprint[] = "YSBmaW5nZXJwcmludC4uAA";

static int
set_up(void **state)
{
	(void)state;
	for (uint8_t i = 0; i < 3; i++)
		memset(key_bytes[i], 0x10 + i, sizeof key_bytes[i]);
	return 0;
}

static struct seal_about
an_attempt(void)
{
	return (struct seal_about){.key_id = name,
	    .state = STATE_COMPLETED,
	    .attempt = 7,
	    .fingerprint = span_str(fingerprint)};
}

/* Seals with the first key of conf; the caller frees the bytes. */
static struct span
closed(const struct conf_store *conf, struct span plain)
{
	struct seal_about about = an_attempt();
	char *bytes;
	size_t len;
	seal_close(conf, &about, plain, &bytes, &len);
	return span_of(bytes, len);
}

static void
drop(struct span sealed)
{
	free((char *)(uintptr_t)sealed.ptr);
}

static int
open_error(const struct conf_store *conf, const struct seal_about *about,
    struct span sealed)
{
	char *plain = NULL;
	size_t len;
	int error = seal_open(conf, about, sealed, &plain, &len);
	assert_true((error == 0) == (plain != NULL));
	free(plain);
	return error;
}

static void
opens_to(const struct conf_store *conf, struct span sealed, struct span plain)
{
	struct seal_about about = an_attempt();
	char *bytes;
	size_t len;
	assert_int_equal(seal_open(conf, &about, sealed, &bytes, &len), 0);
	assert_true(span_eq(span_of(bytes, len), plain));
	free(bytes);
}

static void
what_is_sealed_comes_back_and_is_not_seen(void **state)
{
	(void)state;
	static const struct span plains[] = {
	    SPAN("p\n201 - 0 0 0 2\n\nok"), SPAN(""), SPAN("\0e x\n\xff")};
	for (size_t i = 0; i < sizeof plains / sizeof *plains; i++) {
		struct span sealed = closed(&all, plains[i]);
		/* "e 2027\n", nonce and tag: it is no longer than that. */
		assert_int_equal(sealed.len, 7 + 24 + 16 + plains[i].len);
		assert_true(span_starts(sealed, SPAN("e 2027\n")));
		if (plains[i].len > 0)
			assert_null(memmem(sealed.ptr, sealed.len,
			    plains[i].ptr, plains[i].len));
		opens_to(&all, sealed, plains[i]);
		opens_to(&first, sealed, plains[i]);
		drop(sealed);
	}
}

static void
equal_answers_are_not_equal_when_sealed(void **state)
{
	(void)state;
	struct span one = closed(&all, SPAN("the same"));
	struct span two = closed(&all, SPAN("the same"));
	assert_memory_not_equal(one.ptr + 7, two.ptr + 7, 24);
	assert_memory_not_equal(one.ptr + 31, two.ptr + 31, 8);
	drop(one);
	drop(two);
}

static void
the_first_key_seals_and_each_opens(void **state)
{
	(void)state;
	struct span old = closed(&second, SPAN("old"));
	struct span sealed = closed(&all, SPAN("new"));
	struct span id;
	assert_true(seal_key_of(old, &id) && span_eq(id, SPAN("2026")));
	assert_true(seal_key_of(sealed, &id) && span_eq(id, SPAN("2027")));
	opens_to(&all, old, SPAN("old"));
	opens_to(&all, sealed, SPAN("new"));
	drop(old);
	drop(sealed);
}

static void
a_key_that_is_not_there_or_another_one_does_not_open(void **state)
{
	(void)state;
	static const struct conf_store none = {0};
	struct conf_encryption_key other = {ids[0], key_bytes[2]};
	const struct conf_store changed = {
	    .encryption_keys = &other, .n_encryption_keys = 1};
	struct seal_about about = an_attempt();
	struct span sealed = closed(&all, SPAN("x"));
	assert_int_equal(open_error(&second, &about, sealed), E_NO_KEY);
	assert_int_equal(open_error(&none, &about, sealed), E_NO_KEY);
	assert_int_equal(open_error(&changed, &about, sealed), E_SEALED);
	drop(sealed);
}

/* Its record's name, state, attempt and fingerprint. */
static void
it_opens_only_in_its_own_record(void **state)
{
	(void)state;
	struct span sealed = closed(&all, SPAN("p\nsecret"));
	struct seal_about about = an_attempt();
	assert_int_equal(open_error(&all, &about, sealed), 0);
	for (size_t bit = 0; bit < 8 * DIGEST_BYTES; bit++) {
		about = an_attempt();
		about.key_id.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(open_error(&all, &about, sealed), E_SEALED);
	}
	about = an_attempt();
	for (size_t bit = 0; bit < 8 * TOKEN_CHARS; bit++) {
		char *at = &fingerprint[bit / 8];
		*at = (char)(*at ^ (1 << bit % 8));
		assert_int_equal(open_error(&all, &about, sealed), E_SEALED);
		*at = (char)(*at ^ (1 << bit % 8));
	}
	for (uint32_t attempt = 0; attempt < 100; attempt++) {
		about = an_attempt();
		about.attempt = attempt;
		assert_int_equal(open_error(&all, &about, sealed),
		    attempt == 7 ? 0 : E_SEALED);
	}
	for (int other = 0; other < STATE_COUNT_; other++) {
		about = an_attempt();
		about.state = (enum record_state)other;
		assert_int_equal(open_error(&all, &about, sealed),
		    other == STATE_COMPLETED ? 0 : E_SEALED);
	}
	drop(sealed);
}

/* Of its relay, its id and its record; and it is no answer, and no label. */
static void
an_event_opens_only_as_itself(void **state)
{
	(void)state;
	const struct span parts[] = {SPAN("hooks"), SPAN("1-2-3"), SPAN("ab")};
	struct seal_about about =
	    seal_about_event(parts[0], parts[1], parts[2]);
	char *bytes;
	size_t len;
	seal_close(&all, &about, SPAN("{}"), &bytes, &len);
	struct span sealed = span_of(bytes, len);
	assert_int_equal(open_error(&all, &about, sealed), 0);
	for (size_t i = 0; i < 3; i++) {
		struct span other[] = {parts[0], parts[1], parts[2]};
		other[i] = SPAN("other");
		about = seal_about_event(other[0], other[1], other[2]);
		assert_int_equal(open_error(&all, &about, sealed), E_SEALED);
	}
	about = seal_about_event(parts[0], parts[1], parts[2]);
	about.kind = SEAL_LABEL;
	assert_int_equal(open_error(&all, &about, sealed), E_SEALED);
	about.kind = SEAL_ANSWER;
	about.fingerprint = span_str(fingerprint);
	assert_int_equal(open_error(&all, &about, sealed), E_SEALED);
	drop(sealed);
}

static void
no_bit_of_it_can_be_changed_and_no_byte_be_cut(void **state)
{
	(void)state;
	struct seal_about about = an_attempt();
	struct span sealed = closed(&all, SPAN("p\n201 - 0 0 0 2\n\nok"));
	char *copy = mem_copy(sealed.ptr, sealed.len);
	for (size_t bit = 0; bit < 8 * sealed.len; bit++) {
		copy[bit / 8] = (char)(copy[bit / 8] ^ (1 << bit % 8));
		int error = open_error(&all, &about, span_of(copy, sealed.len));
		/* A damaged head may name no key, or not look sealed at all. */
		if (bit / 8 < 7)
			assert_int_not_equal(error, 0);
		else
			assert_int_equal(error, E_SEALED);
		copy[bit / 8] = sealed.ptr[bit / 8];
	}
	for (size_t len = 0; len < sealed.len; len++)
		assert_int_not_equal(
		    open_error(&all, &about, span_of(copy, len)), 0);
	free(copy);
	drop(sealed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_sealed_comes_back_and_is_not_seen),
	    cmocka_unit_test(equal_answers_are_not_equal_when_sealed),
	    cmocka_unit_test(the_first_key_seals_and_each_opens),
	    cmocka_unit_test(
		a_key_that_is_not_there_or_another_one_does_not_open),
	    cmocka_unit_test(it_opens_only_in_its_own_record),
	    cmocka_unit_test(an_event_opens_only_as_itself),
	    cmocka_unit_test(no_bit_of_it_can_be_changed_and_no_byte_be_cut),
	};
	return cmocka_run_group_tests_name("seal", tests, set_up, NULL);
}
