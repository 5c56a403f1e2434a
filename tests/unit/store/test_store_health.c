/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "store/store_health.h"

/* What the stores of a process say together about their Redis. */

static char host_one[] = "one", host_two[] = "two";
static const struct redis_address one = {host_one, 6379};
static const struct redis_address two = {host_two, 6379};

static void
the_first_to_miss_redis_and_the_last_to_have_it_again_say_so(void **state)
{
	struct store_health *health = store_health_new();
	(void)state;
	for (int outage = 0; outage < 2; outage++) {
		assert_true(store_health_tell(health, NULL, "closed"));
		assert_false(store_health_tell(health, NULL, "closed"));
		assert_false(store_health_tell(health, NULL, "closed"));
		assert_false(store_health_tell(health, NULL, NULL));
		assert_false(store_health_tell(health, NULL, "closed"));
		assert_false(store_health_tell(health, NULL, NULL));
		assert_false(store_health_tell(health, NULL, NULL));
		assert_true(store_health_tell(health, NULL, NULL));
	}
	store_health_free(&health);
}

static void
another_reason_is_said_too(void **state)
{
	struct store_health *health = store_health_new();
	(void)state;
	assert_true(store_health_tell(health, NULL, "closed"));
	assert_true(store_health_tell(health, NULL, "a replica"));
	assert_false(store_health_tell(health, NULL, "a replica"));
	assert_false(store_health_tell(health, NULL, "closed"));
	for (int i = 0; i < 4; i++)
		assert_int_equal(store_health_tell(health, NULL, NULL), i == 3);
	assert_true(store_health_tell(health, NULL, "closed"));
	store_health_free(&health);
}

static void
each_server_of_a_cluster_is_told_of(void **state)
{
	struct store_health *health = store_health_new();
	(void)state;
	assert_true(store_health_tell(health, &one, "closed"));
	assert_true(store_health_tell(health, &two, "closed"));
	assert_true(store_health_tell(health, NULL, "no majority"));
	assert_false(store_health_tell(health, &one, "closed"));
	assert_true(store_health_tell(health, &two, NULL));
	assert_false(store_health_tell(health, &one, NULL));
	assert_true(store_health_tell(health, &one, NULL));
	assert_true(store_health_tell(health, NULL, NULL));
	store_health_free(&health);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		the_first_to_miss_redis_and_the_last_to_have_it_again_say_so),
	    cmocka_unit_test(another_reason_is_said_too),
	    cmocka_unit_test(each_server_of_a_cluster_is_told_of),
	};
	return cmocka_run_group_tests_name("store_health", tests, NULL, NULL);
}
