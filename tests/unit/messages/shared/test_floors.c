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
#include "messages/shared/floors.h"

/* A floor outlives whoever has reached it, and only grows. */

enum { MANY = 450, NAME_BYTES = 32, FLOOR_BYTES = 64, TICKS = 50 };

static struct store *operators; /* the store of another process */
static struct floors floors;
static struct heard {
	char part[NAME_BYTES];
	char floor[FLOOR_BYTES];
	char decided[NAME_BYTES];
} heard[MANY];
static unsigned n_heard, wanted;

static void
on_known(
    void *arg, const char *part, struct span floor, struct span decided)
{
	assert_ptr_equal(arg, &floors);
	assert_true(n_heard < MANY);
	struct heard *h = &heard[n_heard++];
	snprintf(h->part, sizeof h->part, "%s", part);
	snprintf(h->floor, sizeof h->floor, "%.*s", SPAN_FMT(floor));
	snprintf(h->decided, sizeof h->decided, "%.*s", SPAN_FMT(decided));
}

static void
on_record_changed(void *arg, const struct key_id *key_id)
{
	(void)arg;
	(void)key_id;
}

static void
begin(struct bench *bench, const char *name)
{
	n_heard = 0;
	floors_start(&floors, bench->store, bench->loop, name, on_known,
	    &floors);
}

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
	begin(bench, "orders");
	*state = bench;
	return 0;
}

static int
tear_down(void **state)
{
	struct bench *bench = *state;
	floors_stop(&floors);
	floors_stop(&floors);
	store_free(&operators);
	bench_free(&bench);
	return 0;
}

static bool
has_heard(struct bench *bench)
{
	(void)bench;
	return n_heard >= wanted;
}

static void
until_heard(struct bench *bench, unsigned count)
{
	wanted = count;
	bench_until(bench, has_heard);
}

static bool
is_quiet(struct bench *bench)
{
	(void)bench;
	return list_empty(&floors.parts) && floors.call == NULL;
}

/* What is kept of the part, as somebody who comes anew hears it. */
static const struct heard *
look(struct bench *bench, const char *part)
{
	bench_until(bench, is_quiet);
	n_heard = 0;
	floors_due(&floors, part, FLOORS_LOOK);
	until_heard(bench, 1);
	assert_string_equal(heard[0].part, part);
	return &heard[0];
}

static void
keep(struct bench *bench, const char *part, const char *floor, bool anew)
{
	floors_keep(&floors, part, span_str(floor), anew);
	bench_until(bench, is_quiet);
}

/* --- what is kept --- */

static void
a_floor_is_kept_and_only_grows(void **state)
{
	struct bench *bench = *state;
	assert_string_equal(look(bench, "t/0")->floor, "");
	assert_string_equal(heard[0].decided, "");
	keep(bench, "t/0", "9 anchor", false);
	assert_string_equal(look(bench, "t/0")->floor, "9 anchor");
	keep(bench, "t/0", "8 older", false);
	assert_string_equal(look(bench, "t/0")->floor, "9 anchor");
	keep(bench, "t/0", "9 newer", false);
	assert_string_equal(look(bench, "t/0")->floor, "9 newer");
	keep(bench, "t/0", "10 newer", false);
	assert_string_equal(look(bench, "t/0")->floor, "10 newer");
	/* As numbers of 63 bits. */
	keep(bench, "t/0", "9223372036854775806 x", false);
	keep(bench, "t/0", "9223372036854775805 x", false);
	assert_string_equal(
	    look(bench, "t/0")->floor, "9223372036854775806 x");
	/* What was made again begins anew. */
	keep(bench, "t/0", "1 again", true);
	assert_string_equal(look(bench, "t/0")->floor, "1 again");
}

static struct timer tick;
static unsigned ticks;

/* A call is under way at most of these. */
static void
on_tick(void *arg)
{
	char text[FLOOR_BYTES];
	(void)arg;
	snprintf(text, sizeof text, "%u", ++ticks);
	floors_keep(&floors, "t/0", span_str(text), false);
	if (ticks < TICKS)
		timer_set(&tick, 1);
}

static bool
has_ticked(struct bench *bench)
{
	return ticks == TICKS && is_quiet(bench);
}

static void
what_is_told_meanwhile_is_kept_last(void **state)
{
	struct bench *bench = *state;
	ticks = 0;
	timer_init(&tick, bench->loop, on_tick, NULL);
	timer_set(&tick, 0);
	bench_until(bench, has_ticked);
	assert_string_equal(look(bench, "t/0")->floor, "50");
	/* That it may be less is not forgotten for what comes after it. */
	floors_keep(&floors, "t/0", SPAN("3"), true);
	floors_keep(&floors, "t/0", SPAN("4"), false);
	assert_string_equal(look(bench, "t/0")->floor, "4");
}

static void
name_of(unsigned i, char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "topic/%u", i);
}

/* More than a call takes, and all at once. */
static void
many_parts_are_all_kept_and_all_known(void **state)
{
	struct bench *bench = *state;
	char name[NAME_BYTES];
	for (unsigned i = 0; i < MANY; i++) {
		name_of(i, name);
		floors_keep(&floors, name, span_str(name + strlen("topic/")),
		    false);
	}
	bench_until(bench, is_quiet);
	for (unsigned i = 0; i < MANY; i++) {
		name_of(i, name);
		floors_due(&floors, name, FLOORS_LOOK);
	}
	until_heard(bench, MANY);
	for (unsigned i = 0; i < MANY; i++)
		assert_string_equal(
		    heard[i].floor, heard[i].part + strlen("topic/"));
	bench_until(bench, is_quiet);
	assert_int_equal(n_heard, MANY);
}

static void
another_source_has_floors_of_its_own(void **state)
{
	struct bench *bench = *state;
	keep(bench, "t/0", "7", false);
	floors_stop(&floors);
	begin(bench, "order");
	assert_string_equal(look(bench, "t/0")->floor, "");
	floors_stop(&floors);
	begin(bench, "orders");
	assert_string_equal(look(bench, "t/0")->floor, "7");
}

/* --- an operator --- */

static enum verdict
decide(struct bench *bench, struct floors_op *op, bool rewinds,
    const char *part)
{
	const struct span parts[] = {span_str(part != NULL ? part : "")};
	do {
		bench_op(bench, &op->op);
		floors_decide(
		    op, operators, "orders", rewinds, parts, part != NULL);
	} while (bench_wait(bench, &op->op) != 0);
	return op->op.verdict;
}

static void
an_operator_decides_once_of_what_stands(void **state)
{
	struct bench *bench = *state;
	struct floors_op op = {.arena = arena_new()};
	assert_int_equal(decide(bench, &op, true, NULL), VERDICT_GONE);
	keep(bench, "t/0", "7 x", false);
	keep(bench, "t/1", "8", false);
	assert_int_equal(decide(bench, &op, false, "t/0"), VERDICT_GONE);
	floors_due(&floors, "t/0", FLOORS_STAND);
	bench_until(bench, is_quiet);
	assert_int_equal(decide(bench, &op, false, "t/1"), VERDICT_GONE);
	assert_int_equal(decide(bench, &op, false, "t/0"), VERDICT_DONE);
	assert_int_equal(op.count, 1);
	assert_true(span_eq(op.parts[0], SPAN("t/0")));
	assert_string_equal(look(bench, "t/0")->decided, "resume");
	assert_string_equal(heard[0].floor, "7 x");
	assert_string_equal(look(bench, "t/1")->decided, "");
	assert_int_equal(decide(bench, &op, true, NULL), VERDICT_DONE);
	assert_int_equal(op.count, 1);
	assert_string_equal(look(bench, "t/0")->decided, "rewind");
	/* What is kept at once is known to whoever asks then. */
	floors_keep(&floors, "t/0", SPAN("2"), true);
	assert_string_equal(look(bench, "t/0")->decided, "");
	assert_string_equal(heard[0].floor, "2");
	assert_int_equal(decide(bench, &op, true, NULL), VERDICT_GONE);
	arena_free(&op.arena);
}

/* --- Redis is away --- */

static bool
is_away(struct bench *bench)
{
	return bench_is_down(bench) && floors.call == NULL;
}

static void
what_redis_has_not_taken_is_told_again(void **state)
{
	struct bench *bench = *state;
	keep(bench, "t/0", "7", false);
	redis_kill(bench->redis);
	floors_keep(&floors, "t/0", SPAN("8"), false);
	floors_due(&floors, "t/1", FLOORS_LOOK);
	bench_until(bench, is_away);
	assert_int_equal(n_heard, 0);
	redis_again(bench->redis);
	until_heard(bench, 1);
	assert_string_equal(heard[0].part, "t/1");
	assert_string_equal(look(bench, "t/0")->floor, "8");
}

static bool
is_troubled(struct bench *bench)
{
	(void)bench;
	return floors.shared.trouble[0] != '\0';
}

static void
why_nothing_is_known_is_said(void **state)
{
	struct bench *bench = *state;
	keep(bench, "t/0", "7", false);
	redisReply *keys = redis_do(bench->redis, "KEYS *floor*");
	assert_int_equal(keys->elements, 1);
	const char *key = keys->element[0]->str;
	redis_just(bench->redis, "RENAME %s kept", key);
	redis_just(bench->redis, "SET %s another", key);
	floors_due(&floors, "t/0", FLOORS_LOOK);
	bench_until(bench, is_troubled);
	assert_non_null(strstr(floors.shared.trouble, "WRONGTYPE"));
	assert_int_equal(n_heard, 0);
	redis_just(bench->redis, "RENAME kept %s", key);
	until_heard(bench, 1);
	assert_string_equal(heard[0].floor, "7");
	assert_string_equal(floors.shared.trouble, "");
	freeReplyObject(keys);
}

static void
nobody_hears_of_what_was_stopped(void **state)
{
	struct bench *bench = *state;
	floors_due(&floors, "t/0", FLOORS_LOOK);
	floors_stop(&floors);
	begin(bench, "orders");
	floors_due(&floors, "t/1", FLOORS_LOOK);
	until_heard(bench, 1);
	bench_until(bench, is_quiet);
	assert_int_equal(n_heard, 1);
	assert_string_equal(heard[0].part, "t/1");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(a_floor_is_kept_and_only_grows),
	    TEST(what_is_told_meanwhile_is_kept_last),
	    TEST(many_parts_are_all_kept_and_all_known),
	    TEST(another_source_has_floors_of_its_own),
	    TEST(an_operator_decides_once_of_what_stands),
	    TEST(what_redis_has_not_taken_is_told_again),
	    TEST(why_nothing_is_known_is_said),
	    TEST(nobody_hears_of_what_was_stopped),
	};
	return cmocka_run_group_tests_name("floors", tests, NULL, NULL);
}
