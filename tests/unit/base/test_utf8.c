/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/utf8.h"

static void
characters_of_one_to_four_bytes_are_valid(void **state)
{
	static const struct span valid[] = {
		{"", 0},
		{"a\0\x7f", 3},
		{"\xc2\x80\xdf\xbf", 4},
		{"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf", 12},
		{"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof valid / sizeof *valid; i++)
		assert_true(utf8_is_valid(valid[i]));
}

static void
what_is_not_utf8_is_refused(void **state)
{
	static const struct span bad[] = {
		{"\x80", 1},             /* nothing before it */
		{"\xc3", 1},             /* nothing after it */
		{"\xc0\x80", 2},         /* overlong NUL */
		{"\xc1\xbf", 2},         /* overlong */
		{"\xe0\x9f\xbf", 3},     /* overlong */
		{"\xf0\x8f\xbf\xbf", 4}, /* overlong */
		{"\xed\xa0\x80", 3},     /* surrogate */
		{"\xf4\x90\x80\x80", 4}, /* beyond U+10FFFF */
		{"\xf5\x80\x80\x80", 4},
		{"\xff", 1},
		{"\xe2\x82", 2},
		{"\xe2\x82" "a", 3},
		{"\xf0\x9f\x98", 3},
		{"\xc3\xc3", 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		if (utf8_is_valid(bad[i]))
			fail_msg("number %zu passed", i);
	}
}

static void
every_character_that_is_put_is_valid(void **state)
{
	(void)state;
	for (uint32_t c = 0; c <= 0x10ffff; c += c < 0x900 ? 1 : 61) {
		char bytes[4];
		struct span s = span_of(bytes, utf8_put(c, bytes));
		bool surrogate = c >= 0xd800 && c <= 0xdfff;
		assert_int_equal(utf8_is_valid(s), !surrogate);
	}
	char euro[4];
	assert_int_equal(utf8_put(0x20ac, euro), 3);
	assert_memory_equal(euro, "\xe2\x82\xac", 3);
}

static void
what_a_terminal_obeys_is_not_shown(void **state)
{
	static const struct {
		struct span text;
		size_t shown;
	} table[] = {
		{{"a\x1b", 2}, 1},
		{{" ", 1}, 1},
		{{"\0", 1}, 0},
		{{"\n", 1}, 0},
		{{"\x1b[", 2}, 0},
		{{"\x7f", 1}, 0},
		{{"\x9b", 1}, 0},     /* a byte that is no UTF-8 */
		{{"\xc2\x80", 2}, 0}, /* U+0080 to U+009F */
		{{"\xc2\x9b", 2}, 0},
		{{"\xc2\x9f", 2}, 0},
		{{"\xc2\xa0", 2}, 2},
		{{"\xc2", 1}, 0},
		{{"\xc3\x9b", 2}, 2},
		{{"\xe2\x82\xac", 3}, 3},
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (utf8_shown(table[i].text) != table[i].shown)
			fail_msg("number %zu", i);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(characters_of_one_to_four_bytes_are_valid),
		cmocka_unit_test(what_is_not_utf8_is_refused),
		cmocka_unit_test(every_character_that_is_put_is_valid),
		cmocka_unit_test(what_a_terminal_obeys_is_not_shown),
	};
	return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
