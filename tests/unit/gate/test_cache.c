/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gate/cache.h"

/* A record's name; its first byte selects the cache's mark. */
static struct key_id
name(unsigned number)
{
	struct key_id key_id = {{0}};
	memcpy(key_id.bytes, &number, sizeof number);
	memcpy(key_id.bytes + 4, &number, sizeof number);
	return key_id;
}

static void
put(struct cache *cache, unsigned number, size_t body_bytes, int64_t until_ms)
{
	struct fields none = {NULL, 0};
	struct key_id key_id = name(number);
	struct body body = {0};
	assert_int_equal(body_reserve(&body, body_bytes, BUDGET_COMMON), 0);
	struct answer *answer =
	    answer_new(201, &none, &body, SPAN("request"));
	const struct cached cached = {
	    .answer = answer, .attempt = number, .until_ms = until_ms};
	cache_put(cache, &key_id, cache_asking(cache, &key_id), &cached);
	answer_unref(&answer);
}

static bool
has(struct cache *cache, unsigned number, int64_t now_ms)
{
	struct key_id key_id = name(number);
	const struct cached *cached = cache_find(cache, &key_id, now_ms);
	if (cached != NULL)
		assert_int_equal(cached->attempt, number);
	return cached != NULL;
}

static struct counter bytes, hits;

static struct cache *
hearing(size_t limit)
{
	counter_set(&bytes, 0);
	counter_set(&hits, 0);
	struct cache *cache = cache_new(limit, &bytes, &hits);
	cache_subscribed(cache, true);
	return cache;
}

static void
an_answer_is_found_until_its_record_ends(void **state)
{
	(void)state;
	struct cache *cache = hearing(100000);
	put(cache, 1, 100, 1000);
	assert_false(has(cache, 2, 0));
	assert_true(has(cache, 1, 999));
	assert_false(has(cache, 1, 1000));
	assert_int_equal(counter_read(&bytes), 0);
	assert_int_equal(counter_read(&hits), 1);
	cache_free(&cache);
}

static void
the_least_recently_used_go_first(void **state)
{
	(void)state;
	struct cache *cache = hearing(100000);
	for (unsigned i = 0; i < 10; i++)
		put(cache, i, 9000, 1000);
	assert_true(has(cache, 0, 0));
	put(cache, 10, 9000, 1000);
	assert_true(has(cache, 0, 0));
	assert_false(has(cache, 1, 0));
	assert_true(has(cache, 10, 0));
	assert_true(counter_read(&bytes) <= 100000);
	cache_free(&cache);
}

static void
many_answers_are_all_found(void **state)
{
	(void)state;
	struct cache *cache = hearing(100000000);
	for (unsigned i = 0; i < 5000; i++)
		put(cache, i, 10, 1000);
	for (unsigned i = 0; i < 5000; i++)
		assert_true(has(cache, i, 0));
	cache_free(&cache);
}

static void
an_answer_that_is_too_large_is_not_kept(void **state)
{
	(void)state;
	struct cache *cache = hearing(8000);
	put(cache, 1, 1000, 1000);
	assert_false(has(cache, 1, 0));
	cache_free(&cache);
	cache = hearing(0);
	put(cache, 1, 1, 1000);
	assert_false(has(cache, 1, 0));
	cache_free(&cache);
}

static void
what_changed_is_dropped(void **state)
{
	(void)state;
	struct cache *cache = hearing(100000);
	struct key_id key_id = name(1);
	put(cache, 1, 10, 1000);
	put(cache, 2, 10, 1000);
	cache_drop(cache, &key_id);
	assert_false(has(cache, 1, 0));
	assert_true(has(cache, 2, 0));
	cache_drop(cache, NULL);
	assert_false(has(cache, 2, 0));
	cache_free(&cache);
}

/* The reply with the old answer was still on its way when the change came. */
static void
word_that_overtakes_an_answer_keeps_it_out(void **state)
{
	(void)state;
	struct fields none = {NULL, 0};
	struct cache *cache = hearing(100000);
	struct key_id key_id = name(1);
	cache_mark mark = cache_asking(cache, &key_id);
	cache_drop(cache, &key_id);
	struct answer *answer = answer_new(201, &none, NULL, SPAN(""));
	const struct cached cached = {.answer = answer, .until_ms = 1000};
	cache_put(cache, &key_id, mark, &cached);
	assert_false(has(cache, 1, 0));
	cache_put(cache, &key_id, cache_asking(cache, &key_id), &cached);
	assert_non_null(cache_find(cache, &key_id, 0));
	answer_unref(&answer);
	cache_free(&cache);
}

static void
who_hears_nothing_keeps_nothing(void **state)
{
	(void)state;
	struct cache *cache = cache_new(100000, &bytes, &hits);
	put(cache, 1, 10, 1000);
	assert_false(has(cache, 1, 0));
	cache_subscribed(cache, true);
	put(cache, 1, 10, 1000);
	assert_true(has(cache, 1, 0));
	cache_subscribed(cache, false);
	assert_false(has(cache, 1, 0));
	cache_subscribed(cache, true);
	assert_false(has(cache, 1, 0));
	cache_free(&cache);
}

static void
what_is_kept_is_not_in_flight(void **state)
{
	(void)state;
	struct budget budget = {.limit = 1000};
	struct fields none = {NULL, 0};
	struct cache *cache = hearing(100000);
	struct key_id key_id = name(1);
	struct body body = {.budget = &budget};
	assert_int_equal(body_reserve(&body, 1000, BUDGET_COMMON), 0);
	struct answer *answer = answer_new(201, &none, &body, SPAN(""));
	const struct cached cached = {.answer = answer, .until_ms = 1000};
	assert_int_equal(budget.used, 1000);
	cache_put(cache, &key_id, cache_asking(cache, &key_id), &cached);
	assert_int_equal(budget.used, 0);
	answer_unref(&answer);
	cache_free(&cache);
	assert_int_equal(budget.used, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_answer_is_found_until_its_record_ends),
	    cmocka_unit_test(the_least_recently_used_go_first),
	    cmocka_unit_test(many_answers_are_all_found),
	    cmocka_unit_test(an_answer_that_is_too_large_is_not_kept),
	    cmocka_unit_test(what_changed_is_dropped),
	    cmocka_unit_test(word_that_overtakes_an_answer_keeps_it_out),
	    cmocka_unit_test(who_hears_nothing_keeps_nothing),
	    cmocka_unit_test(what_is_kept_is_not_in_flight),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
