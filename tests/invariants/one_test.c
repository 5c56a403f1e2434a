/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

/*
 * With ONCE_ONE_TEST=name a unit test program runs that test alone, so that no
 * other can keep it from seeing what it is to see.
 */
static void __attribute__((constructor))
choose_one_test(void)
{
	const char *name = getenv("ONCE_ONE_TEST");
	if (name != NULL)
		cmocka_set_test_filter(name);
}
