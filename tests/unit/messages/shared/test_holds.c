/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "lib/store_bench.h"
#include "messages/shared/holds.h"

/* What is held is known to every gateway, and outlives them all. */

enum {
	MOST_MS = 3600 * 1000,
	KEEP_MS = 2 * MOST_MS,
	EARLIER_MS = 60 * 1000,
	SLACK_MS = 30 * 1000,
	MANY = 1000,
	POSITION_BYTES = 16,
};

static struct store *others; /* the store of another process */
static struct holds here, there;
static struct span wanted;

static void
on_record_changed(void *arg, const struct key_id *key_id)
{
	(void)arg;
	(void)key_id;
}

static void
begin(struct holds *holds, struct bench *bench, struct store *store)
{
	holds_start(holds, store, bench->loop, "source", "orders", MOST_MS,
	    KEEP_MS);
}

static int
set_up(void **state)
{
	static const char *const options[] = {"--appendonly", "yes",
	    "--appendfsync", "always", NULL};
	struct bench *bench = bench_new_short(options);
	const struct store_listener listener = {
	    on_record_changed, NULL, NULL};
	others = store_new(
	    bench->loop, bench->conf, &bench->budget, bench->health);
	store_listen(bench->store, &listener);
	store_listen(others, &listener);
	begin(&here, bench, bench->store);
	begin(&there, bench, others);
	*state = bench;
	return 0;
}

static int
tear_down(void **state)
{
	struct bench *bench = *state;
	holds_stop(&here);
	holds_stop(&here);
	holds_stop(&there);
	store_free(&others);
	bench_free(&bench);
	return 0;
}

static bool
both_know(struct bench *bench)
{
	(void)bench;
	return here.known && there.known;
}

static bool
one_may_be_held_there(struct bench *bench)
{
	(void)bench;
	return holds_may(&there, wanted);
}

static bool
it_is_known_not_to_be_held(struct bench *bench)
{
	(void)bench;
	return here.known && there.known && !holds_may(&here, wanted) &&
	    !holds_may(&there, wanted);
}

/* Until it is answered; for how long it has been held. */
static int64_t
note(struct bench *bench, struct span position, int64_t held_ms)
{
	struct hold_op op;
	do {
		bench_op(bench, &op.op);
		holds_note(&here, &op, position, held_ms);
	} while (bench_wait(bench, &op.op) != 0);
	assert_int_equal(op.op.verdict, VERDICT_DONE);
	return op.held_ms;
}

static enum verdict
find(struct bench *bench, struct span position)
{
	struct hold_op op;
	do {
		bench_op(bench, &op.op);
		holds_find(&there, &op, position);
	} while (bench_wait(bench, &op.op) != 0);
	return op.op.verdict;
}

static void
what_one_holds_all_know_and_of_no_other(void **state)
{
	struct bench *bench = *state;
	assert_true(holds_may(&there, SPAN("1-0")));
	bench_until(bench, both_know);
	assert_false(holds_may(&there, SPAN("1-0")));
	assert_in_range(note(bench, SPAN("1-0"), EARLIER_MS), EARLIER_MS,
	    EARLIER_MS + SLACK_MS);
	assert_true(holds_may(&here, SPAN("1-0")));
	wanted = SPAN("1-0");
	bench_until(bench, one_may_be_held_there);
	/* It is known, and not all might be held. */
	assert_false(holds_may(&there, SPAN("1-1")));
	assert_false(holds_may(&there, SPAN("")));
	assert_int_equal(find(bench, SPAN("1-0")), VERDICT_DONE);
	assert_int_equal(find(bench, SPAN("1-1")), VERDICT_GONE);
}

static void
it_outlives_all_who_held_it(void **state)
{
	struct bench *bench = *state;
	note(bench, SPAN("1-0"), EARLIER_MS);
	holds_stop(&here);
	holds_stop(&there);
	begin(&here, bench, bench->store);
	begin(&there, bench, others);
	assert_true(holds_may(&there, SPAN("1-1")));
	bench_until(bench, both_know);
	assert_true(holds_may(&here, SPAN("1-0")));
	assert_true(holds_may(&there, SPAN("1-0")));
	assert_false(holds_may(&there, SPAN("1-1")));
	assert_in_range(note(bench, SPAN("1-0"), 0), EARLIER_MS,
	    EARLIER_MS + 2 * SLACK_MS);
}

static void
what_was_dropped_is_unknown_to_all_again(void **state)
{
	struct bench *bench = *state;
	note(bench, SPAN("1-0"), 0);
	holds_drop(&there, SPAN("1-0"));
	wanted = SPAN("1-0");
	bench_until(bench, it_is_known_not_to_be_held);
	assert_int_equal(find(bench, SPAN("1-0")), VERDICT_GONE);
}

static void
what_was_loaded_before_may_be_old(void **state)
{
	struct bench *bench = *state;
	bench_until(bench, both_know);
	holds_load(&there);
	assert_true(holds_may(&there, SPAN("1-0")));
	/* Also while it is asked for. */
	holds_load(&there);
	bench_until(bench, both_know);
	assert_false(holds_may(&there, SPAN("1-0")));
}

static void
all_may_be_held_where_redis_cannot_say(void **state)
{
	struct bench *bench = *state;
	bench_until(bench, both_know);
	redisReply *keys = redis_do(bench->redis, "KEYS *:holds:*");
	assert_int_equal(keys->elements, 0);
	freeReplyObject(keys);
	note(bench, SPAN("1-0"), 0);
	keys = redis_do(bench->redis, "KEYS *:holds:*");
	assert_int_equal(keys->elements, 1);
	redis_just(bench->redis, "SET %s damage", keys->element[0]->str);
	holds_load(&there);
	struct hold_op op;
	bench_op(bench, &op.op);
	holds_find(&there, &op, SPAN("2-0"));
	assert_int_not_equal(bench_wait(bench, &op.op), 0);
	assert_true(holds_may(&there, SPAN("2-0")));
	redis_just(bench->redis, "DEL %s", keys->element[0]->str);
	freeReplyObject(keys);
	wanted = SPAN("2-0");
	bench_until(bench, it_is_known_not_to_be_held);
}

static void
many_are_all_known(void **state)
{
	struct bench *bench = *state;
	char text[POSITION_BYTES];
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(text, sizeof text, "%u-0", i);
		note(bench, span_str(text), 0);
	}
	holds_load(&here);
	holds_load(&there);
	bench_until(bench, both_know);
	assert_int_equal(there.names.count, MANY);
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(text, sizeof text, "%u-0", i);
		assert_true(holds_may(&there, span_str(text)));
	}
	assert_false(holds_may(&there, SPAN("x")));
}

static bool
it_is_asked_there(struct bench *bench)
{
	(void)bench;
	return there.call != NULL;
}

static bool
it_was_answered_there(struct bench *bench)
{
	(void)bench;
	return there.call == NULL;
}

static void
load_there(struct bench *bench)
{
	holds_load(&there);
	bench_until(bench, it_is_asked_there);
	bench_until(bench, it_was_answered_there);
}

static void
of_more_than_can_be_known_each_is_asked_for(void **state)
{
	struct bench *bench = *state;
	note(bench, SPAN("1-0"), 0);
	redisReply *keys = redis_do(bench->redis, "KEYS *:holds:*");
	assert_int_equal(keys->elements, 1);
	redis_just(bench->redis, "EVAL %s 1 %s %d",
	    "for n = 2, ARGV[1] do redis.call('ZADD', KEYS[1], 'NX', "
	    "redis.call('TIME')[1] * 1000, string.format('%032x', n)) end",
	    keys->element[0]->str, HOLDS_KNOWN);
	freeReplyObject(keys);
	load_there(bench);
	assert_true(there.known);
	assert_int_equal(there.names.count, HOLDS_KNOWN);
	assert_true(holds_may(&there, SPAN("1-0")));
	assert_false(holds_may(&there, SPAN("2-0")));
	note(bench, SPAN("1-1"), 0);
	load_there(bench);
	assert_false(there.known);
	assert_true(holds_may(&there, SPAN("2-0")));
	assert_int_equal(find(bench, SPAN("1-0")), VERDICT_DONE);
	assert_int_equal(find(bench, SPAN("1-1")), VERDICT_DONE);
	assert_int_equal(find(bench, SPAN("2-0")), VERDICT_GONE);
	holds_drop(&there, SPAN("1-1"));
	load_there(bench);
	assert_true(there.known);
	assert_false(holds_may(&there, SPAN("2-0")));
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(what_one_holds_all_know_and_of_no_other),
	    TEST(it_outlives_all_who_held_it),
	    TEST(what_was_dropped_is_unknown_to_all_again),
	    TEST(what_was_loaded_before_may_be_old),
	    TEST(all_may_be_held_where_redis_cannot_say),
	    TEST(many_are_all_known),
	    TEST(of_more_than_can_be_known_each_is_asked_for),
	};
	return cmocka_run_group_tests_name("holds", tests, NULL, NULL);
}
