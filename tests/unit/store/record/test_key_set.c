/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "store/record/key_set.h"

enum { MANY = 1000 };

/* All share their first bytes, so that they meet in the same place. */
static struct key_id
key(unsigned number)
{
	struct key_id key_id = {{0}};
	key_id.bytes[0] = 1;
	memcpy(key_id.bytes + 8, &number, sizeof number);
	return key_id;
}

static void
it_has_what_was_added_and_nothing_else(void **state)
{
	struct key_set set = {0};
	(void)state;
	for (unsigned i = 0; i < MANY; i += 2) {
		struct key_id even = key(i), odd = key(i + 1);
		assert_false(key_set_has(&set, &even));
		key_set_add(&set, &even);
		key_set_add(&set, &even);
		assert_true(key_set_has(&set, &even));
		assert_false(key_set_has(&set, &odd));
	}
	assert_int_equal(set.members.count, MANY / 2);
	for (unsigned i = 0; i < MANY; i++) {
		struct key_id any = key(i);
		assert_int_equal(key_set_has(&set, &any), i % 2 == 0);
	}
	key_set_clear(&set);
	struct key_id first = key(0);
	assert_false(key_set_has(&set, &first));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(it_has_what_was_added_and_nothing_else),
	};
	return cmocka_run_group_tests_name("key_set", tests, NULL, NULL);
}
