/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/field.h"

/* What RFC 9110 says, byte by byte (sections 5.6.2 and 5.5). */
static bool
is_tchar(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') ||
	    (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool
may_be_in_a_value(int c)
{
	return (c >= 0x20 && c != 0x7f) || c == '\t';
}

static void
each_byte_of_a_name(void **state)
{
	(void)state;
	for (int c = 0; c < 256; c++) {
		char name[] = {'a', (char)c, 'b'};
		assert_int_equal(
		    field_is_token(span_of(name, 3)), is_tchar(c));
	}
	assert_false(field_is_token(SPAN("")));
}

/*
 * Every byte at every place of values of many lengths, with neighbours at the
 * limits of what is allowed.
 */
static void
each_byte_of_a_value(void **state)
{
	(void)state;
	static const char edges[] = {
	    ' ', '\x7e', '\x80', '\xff', '\t', 'a', '!', '\xa0'};
	char value[24];
	for (int c = 0; c < 256; c++) {
		for (size_t len = 1; len <= sizeof value; len++) {
			for (size_t at = 0; at < len; at++) {
				for (size_t i = 0; i < len; i++)
					value[i] = edges[(i + at + len) % 8];
				value[at] = (char)c;
				assert_int_equal(
				    field_is_value(span_of(value, len)),
				    may_be_in_a_value(c));
				assert_int_equal(
				    field_value_bytes(span_of(value, len)),
				    may_be_in_a_value(c) ? len : at);
			}
		}
	}
	assert_true(field_is_value(SPAN("")));
}

static const struct {
	enum field_kind kind;
	const char *name;
} known[] = {
#define REQUEST_FIELD(kind, name) {FIELD_##kind, name},
#include "tbl/request_fields.h"
#undef REQUEST_FIELD
};

static void
known_names_have_their_kind_in_any_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		char name[64];
		size_t len = strlen(known[i].name);
		for (int turn = 0; turn < 3; turn++) {
			for (size_t k = 0; k < len; k++)
				name[k] = (char)(turn == 0 ? known[i].name[k]
					: turn == 1 ? toupper(known[i].name[k])
						: tolower(known[i].name[k]));
			assert_int_equal(field_kind(span_of(name, len)),
			    known[i].kind);
		}
		assert_int_equal(
		    field_kind(span_of(name, len - 1)), FIELD_OTHER);
		for (size_t k = 0; k < len; k++)
			name[k] = name[k] == '-' ? '_' : name[k];
		assert_int_equal(field_kind_met(span_of(name, len)),
		    known[i].kind);
		name[0] = '~';
		assert_int_equal(
		    field_kind_met(span_of(name, len)), FIELD_OTHER);
	}
	assert_int_equal(field_kind(SPAN("")), FIELD_OTHER);
	assert_int_equal(field_kind_met(SPAN("Accept")), FIELD_OTHER);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_byte_of_a_name),
	    cmocka_unit_test(each_byte_of_a_value),
	    cmocka_unit_test(known_names_have_their_kind_in_any_case),
	};
	return cmocka_run_group_tests_name("field", tests, NULL, NULL);
}
