/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/swappable.h"

/* An object lives as long as somebody uses it, and newcomers get the newest. */

static atomic_int living;

struct object {
	int number;
};

static void
free_object(void *object)
{
	atomic_fetch_sub(&living, 1);
	free(object);
}

static struct swappable *
new_of(int number)
{
	struct object *object = mem_zero(sizeof *object);
	object->number = number;
	atomic_fetch_add(&living, 1);
	return swappable_new(object, free_object);
}

static int
number_of(const struct swappable_object *object)
{
	return ((struct object *)object->object)->number;
}

static void
what_is_acquired_outlives_what_is_newer(void **state)
{
	(void)state;
	struct swappable *running = new_of(1), *next = new_of(2);
	struct swappable_object *old = swappable_acquire(running);
	swappable_swap(running, next);
	swappable_free(&next);
	assert_int_equal(atomic_load(&living), 2);
	struct swappable_object *now = swappable_acquire(running);
	assert_int_equal(number_of(old), 1);
	assert_int_equal(number_of(now), 2);
	swappable_release(&old);
	assert_int_equal(atomic_load(&living), 1);
	swappable_free(&running);
	assert_int_equal(number_of(now), 2);
	swappable_release(&now);
	assert_int_equal(atomic_load(&living), 0);
	swappable_release(&now);
	swappable_free(&running);
}

static void *
acquire_often(void *arg)
{
	for (int i = 0; i < 2000; i++) {
		struct swappable_object *now = swappable_acquire(arg);
		assert_true(number_of(now) >= 0);
		swappable_release(&now);
	}
	return NULL;
}

static void
threads_may_acquire_while_it_is_swapped(void **state)
{
	(void)state;
	struct swappable *running = new_of(0);
	pthread_t threads[3];
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(pthread_create(
		    &threads[i], NULL, acquire_often, running), 0);
	for (int i = 1; i < 500; i++) {
		struct swappable *next = new_of(i);
		swappable_swap(running, next);
		swappable_free(&next);
	}
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	swappable_free(&running);
	assert_int_equal(atomic_load(&living), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_acquired_outlives_what_is_newer),
	    cmocka_unit_test(threads_may_acquire_while_it_is_swapped),
	};
	return cmocka_run_group_tests_name("swappable", tests, NULL, NULL);
}
