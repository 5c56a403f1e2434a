/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/error.h"
#include "lib/store_bench.h"
#include "messages/shared/pause.h"

/* A pause holds for all gateways until it is resumed. */

enum { SOON_US = 900 * 1000, LATEST_US = 5000 * 1000 };

static struct store *operators; /* the store of another process */
static struct pause held;
static unsigned changes;
static bool want;

static void
on_changed(void *arg)
{
	(void)arg;
	changes++;
}

static void
on_record_changed(void *arg, const struct key_id *key_id)
{
	(void)arg;
	(void)key_id;
}

static const struct pause_events events = {
    EV_source_paused, EV_source_resumed, on_changed, NULL};

static int
set_up(void **state)
{
	static const char *const options[] = {"--appendonly", "yes",
	    "--appendfsync", "always", NULL};
	struct bench *bench = bench_new_short(options);
	const struct store_listener listener = {
	    on_record_changed, NULL, NULL};
	operators = store_new(
	    bench->loop, bench->conf, &bench->budget, bench->health, NULL);
	store_listen(bench->store, &listener);
	changes = 0;
	pause_start(&held, bench->store, bench->loop, "source", "orders",
	    &events);
	*state = bench;
	return 0;
}

static int
tear_down(void **state)
{
	struct bench *bench = *state;
	pause_stop(&held);
	pause_stop(&held);
	store_free(&operators);
	bench_free(&bench);
	return 0;
}

static bool
is_as_wanted(struct bench *bench)
{
	(void)bench;
	return pause_stands(&held) == want;
}

static void
until_it_stands(struct bench *bench, bool stands)
{
	want = stands;
	bench_until(bench, is_as_wanted);
}

/* Until it is answered; the verdict.  What is said stays in the arena. */
static enum verdict
say(struct bench *bench, struct pause_op *op, const char *act, const char *note)
{
	do {
		bench_op(bench, &op->op);
		pause_say(op, operators, "source", "orders", act,
		    SPAN("anna\nb"), span_str(note));
	} while (bench_wait(bench, &op->op) != 0);
	return op->op.verdict;
}

static void
a_pause_holds_until_it_is_resumed_and_says_why(void **state)
{
	struct bench *bench = *state;
	struct pause_op op = {.arena = arena_new()};
	assert_true(pause_stands(&held));
	until_it_stands(bench, false);
	assert_int_equal(changes, 1);
	assert_int_equal(say(bench, &op, "look", ""), VERDICT_GONE);
	assert_false(op.on);

	int64_t now_ms = clock_wall_ms();
	assert_int_equal(
	    say(bench, &op, "pause", "the bank\nis away"), VERDICT_DONE);
	assert_true(op.on);
	assert_int_equal(say(bench, &op, "look", ""), VERDICT_DONE);
	assert_true(op.on);
	until_it_stands(bench, true);
	assert_string_equal(held.note, "the bank\nis away");
	assert_string_equal(held.who, "anna b");
	assert_in_range(held.since_ms, now_ms - 1000, now_ms + 20000);
	assert_int_equal(changes, 2);
	assert_int_equal(say(bench, &op, "look", ""), VERDICT_DONE);
	assert_true(span_eq(op.note, SPAN("the bank\nis away")));
	assert_true(op.since_ms == held.since_ms);
	/* And the store's two ids. */
	assert_int_equal(redis_integer(bench->redis, "DBSIZE"), 3);

	assert_int_equal(say(bench, &op, "resume", ""), VERDICT_DONE);
	assert_false(op.on);
	until_it_stands(bench, false);
	assert_int_equal(say(bench, &op, "resume", ""), VERDICT_GONE);
	arena_free(&op.arena);
}

static void
it_is_heard_of_at_once(void **state)
{
	struct bench *bench = *state;
	struct pause_op op = {.arena = arena_new()};
	until_it_stands(bench, false);
	/* The first may come before the channel is heard. */
	for (int i = 0; i < 3; i++) {
		say(bench, &op, "pause", "");
		int64_t said_us = clock_us();
		until_it_stands(bench, true);
		assert_true(i == 0 || clock_us() - said_us < SOON_US);
		say(bench, &op, "resume", "");
		said_us = clock_us();
		until_it_stands(bench, false);
		assert_true(i == 0 || clock_us() - said_us < SOON_US);
	}
	arena_free(&op.arena);
}

/* As where our user may not use channels. */
static void
it_is_heard_of_in_five_seconds_without_channels(void **state)
{
	struct bench *bench = *state;
	struct pause_op op = {.arena = arena_new()};
	pause_stop(&held);
	pause_start(&held, operators, bench->loop, "source", "orders",
	    &events);
	until_it_stands(bench, false);
	say(bench, &op, "pause", "");
	int64_t said_us = clock_us();
	until_it_stands(bench, true);
	assert_true(clock_us() - said_us < LATEST_US);
	arena_free(&op.arena);
}

static bool
is_away(struct bench *bench)
{
	return bench_is_down(bench) && held.watch.call == NULL;
}

static void
what_was_known_last_holds_while_redis_is_away(void **state)
{
	struct bench *bench = *state;
	struct pause_op op = {.arena = arena_new()};
	until_it_stands(bench, false);
	redis_kill(bench->redis);
	bench_until(bench, is_away);
	assert_false(pause_stands(&held));
	bench_op(bench, &op.op);
	pause_say(&op, operators, "source", "orders", "pause", SPAN(""),
	    SPAN(""));
	assert_int_not_equal(bench_wait(bench, &op.op), 0);

	/* At a start nothing is known. */
	pause_stop(&held);
	pause_start(&held, bench->store, bench->loop, "source", "orders",
	    &events);
	bench_until(bench, is_away);
	assert_true(pause_stands(&held));
	redis_again(bench->redis);
	until_it_stands(bench, false);

	/* It survives restarts of Redis, and of gateways. */
	say(bench, &op, "pause", "stays");
	until_it_stands(bench, true);
	redis_kill(bench->redis);
	bench_until(bench, is_away);
	assert_true(pause_stands(&held));
	redis_again(bench->redis);
	assert_int_equal(say(bench, &op, "look", ""), VERDICT_DONE);
	assert_true(op.on);
	assert_true(span_eq(op.note, SPAN("stays")));

	/* Where Redis has lost it, who knows of it says it again. */
	redis_just(bench->redis, "FLUSHALL");
	while (say(bench, &op, "look", "") != VERDICT_DONE)
		continue;
	assert_true(pause_stands(&held));
	assert_true(span_eq(op.note, SPAN("stays")));
	say(bench, &op, "resume", "");
	until_it_stands(bench, false);
	arena_free(&op.arena);
}

static void
another_source_and_a_relay_of_its_name_are_not_paused(void **state)
{
	struct bench *bench = *state;
	struct pause_op op = {.arena = arena_new()};
	until_it_stands(bench, false);
	bench_op(bench, &op.op);
	pause_say(&op, operators, "source", "order", "pause", SPAN(""),
	    SPAN(""));
	assert_int_equal(bench_wait(bench, &op.op), 0);
	bench_op(bench, &op.op);
	pause_say(&op, operators, "relay", "orders", "pause", SPAN(""),
	    SPAN(""));
	assert_int_equal(bench_wait(bench, &op.op), 0);
	assert_int_equal(say(bench, &op, "look", ""), VERDICT_GONE);
	assert_false(op.on);
	assert_int_equal(changes, 1);
	arena_free(&op.arena);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(a_pause_holds_until_it_is_resumed_and_says_why),
	    TEST(it_is_heard_of_at_once),
	    TEST(it_is_heard_of_in_five_seconds_without_channels),
	    TEST(what_was_known_last_holds_while_redis_is_away),
	    TEST(another_source_and_a_relay_of_its_name_are_not_paused),
	};
	return cmocka_run_group_tests_name("pause", tests, NULL, NULL);
}
