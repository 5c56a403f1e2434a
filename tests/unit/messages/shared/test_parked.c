/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "lib/store_bench.h"
#include "messages/shared/parked.h"

/* Parked lanes: what Redis has, and each gateway's copy of it. */

enum { MANY = 1700 };

static struct store *others; /* the store of another process */
static struct parked parked, copy;
static struct shared shared; /* as an operator has it */
static unsigned changes;

static void
on_changed(void *arg)
{
	(void)arg;
	changes++;
}

static unsigned n_decided;

static void
on_decided(void *arg, const struct parked_entry *entry)
{
	(void)arg;
	assert_true(span_eq(entry->decided, SPAN("back")));
	assert_true(span_eq(entry->first, SPAN("2-0")));
	n_decided++;
}

static const struct parked_events heard = {on_changed, on_decided, NULL};

static void
on_record_changed(void *arg, const struct key_id *key_id)
{
	(void)arg;
	(void)key_id;
}

static bool
both_are_known(struct bench *bench)
{
	(void)bench;
	return parked_is_known(&parked) && parked_is_known(&copy);
}

static int
set_up(void **state)
{
	struct bench *bench = bench_new(NULL, NULL, "");
	const struct store_listener listener = {
	    on_record_changed, NULL, NULL};
	others = store_new(
	    bench->loop, bench->conf, &bench->budget, bench->health);
	store_listen(bench->store, &listener);
	store_listen(others, &listener);
	changes = 0;
	parked_start(&parked, bench->store, bench->loop, "source", "orders",
	    &heard);
	parked_start(
	    &copy, others, bench->loop, "source", "orders", &heard);
	shared_init(&shared, others, "source", "orders");
	bench_until(bench, both_are_known);
	*state = bench;
	return 0;
}

static int
tear_down(void **state)
{
	struct bench *bench = *state;
	parked_stop(&parked);
	parked_stop(&copy);
	parked_stop(&copy);
	store_free(&others);
	bench_free(&bench);
	return 0;
}

static struct parked_lane
lane(unsigned number)
{
	struct parked_lane one = {{0}};
	memcpy(one.bytes, &number, sizeof number);
	return one;
}

enum act { PARK, BEHIND, UNPARK };

/* The verdict; *op has the rest, in the arena. */
static enum verdict
does(struct bench *bench, struct parked_op *op, enum act act, unsigned number,
    const char *position)
{
	const struct parked_lane of = lane(number);
	bench_op(bench, &op->op);
	if (act == PARK)
		parked_park(&parked, op, &of, span_str(position), NULL);
	else if (act == BEHIND)
		parked_behind(&parked, op, &of, span_str(position), NULL);
	else
		parked_unpark(&shared, op, &of);
	assert_int_equal(bench_wait(bench, &op->op), 0);
	return op->op.verdict;
}

static unsigned watched;
static struct parked *watching;
static bool want;

static bool
is_as_wanted(struct bench *bench)
{
	const struct parked_lane of = lane(watched);
	(void)bench;
	return parked_is_known(watching) &&
	    parked_has(watching, &of) == want;
}

/* The copy of that gateway comes to know it. */
static void
comes_to(struct bench *bench, struct parked *gateway, unsigned number,
    bool is_parked)
{
	watched = number;
	watching = gateway;
	want = is_parked;
	bench_until(bench, is_as_wanted);
}

/* --- tests --- */

static void
a_lane_is_parked_until_it_is_freed(void **state)
{
	struct bench *bench = *state;
	struct parked_op op = {.arena = arena_new()};
	const struct parked_lane of = lane(7);
	assert_false(parked_has(&parked, &of));
	assert_int_equal(does(bench, &op, PARK, 7, "10-0"), VERDICT_DONE);
	assert_true(parked_has(&parked, &of));
	assert_int_equal(op.count, 1);
	comes_to(bench, &copy, 7, true);
	assert_int_equal(does(bench, &op, BEHIND, 7, "9-0"), VERDICT_DONE);
	assert_int_equal(op.count, 2);
	assert_true(span_eq(op.first, SPAN("10-0")));

	assert_int_equal(does(bench, &op, UNPARK, 7, ""), VERDICT_DONE);
	assert_int_equal(op.count, 2);
	assert_true(span_eq(op.first, SPAN("10-0")));
	comes_to(bench, &parked, 7, false);
	comes_to(bench, &copy, 7, false);
	assert_int_equal(does(bench, &op, UNPARK, 7, ""), VERDICT_GONE);
	/* The ids of the store: nothing of it is left. */
	assert_int_equal(redis_integer(bench->redis, "DBSIZE"), 1);
	arena_free(&op.arena);
}

static void
a_position_is_parked_once(void **state)
{
	struct bench *bench = *state;
	struct parked_op op = {.arena = arena_new()};
	for (int i = 0; i < 3; i++) {
		assert_int_equal(
		    does(bench, &op, PARK, 1, "1-0"), VERDICT_DONE);
		assert_int_equal(op.count, i == 0 ? 1 : 2);
		assert_int_equal(
		    does(bench, &op, BEHIND, 1, "2-0"), VERDICT_DONE);
		assert_int_equal(op.count, 2);
		assert_true(span_eq(op.first, SPAN("1-0")));
	}
	arena_free(&op.arena);
}

/* It was freed, and nobody has told us: its messages are not put away. */
static void
nothing_is_behind_a_lane_that_is_free(void **state)
{
	struct bench *bench = *state;
	struct parked_op op = {.arena = arena_new()};
	const struct parked_lane of = lane(3);
	assert_int_equal(does(bench, &op, PARK, 3, "1-0"), VERDICT_DONE);
	redis_just(bench->redis, "FLUSHALL");
	assert_true(parked_has(&parked, &of));
	assert_int_equal(does(bench, &op, BEHIND, 3, "2-0"), VERDICT_GONE);
	assert_false(parked_has(&parked, &of));
	assert_int_equal(redis_integer(bench->redis, "DBSIZE"), 0);
	arena_free(&op.arena);
}

/* Lanes from that number on, as another process has parked them. */
static void
put_lanes(struct bench *bench, unsigned from, unsigned count)
{
	redis_just(bench->redis,
	    "EVAL %s 1 onceproxy:{%d}:parked:source:orders %d %d",
	    "for i = ARGV[1], ARGV[1] + ARGV[2] - 1 do"
	    "  local lane = string.format('%02x%02x', i % 256, i / 256) .."
	    "    string.rep('0', 28)"
	    "  redis.call('ZADD', KEYS[1], math.floor(i / 64), lane)"
	    "  redis.call('ZADD', KEYS[1] .. ':' .. lane, 1, 'p' .. i)"
	    "  redis.call('ZADD', KEYS[1] .. ':' .. lane, 2, 'q' .. i) "
	    "end",
	    (int)shared.shard, (int)from, (int)count);
}

static void
what_is_parked_survives_and_is_loaded_page_by_page(void **state)
{
	struct bench *bench = *state;
	put_lanes(bench, 0, MANY);
	parked_stop(&parked);
	parked_start(&parked, bench->store, bench->loop, "source", "orders",
	    &heard);
	assert_false(parked_is_known(&parked));
	comes_to(bench, &parked, 0, true);
	assert_int_equal(parked_count(&parked), MANY);
	for (unsigned i = 0; i < MANY; i++) {
		const struct parked_lane of = lane(i);
		assert_true(parked_has(&parked, &of));
	}
	const struct parked_lane of = lane(MANY);
	assert_false(parked_has(&parked, &of));
	/* Nothing of it has an end. */
	assert_int_equal(redis_integer(bench->redis,
	    "PTTL onceproxy:{%d}:parked:source:orders", (int)shared.shard),
	    -1);
}

static void
what_is_changed_here_is_told_once(void **state)
{
	struct bench *bench = *state;
	struct parked_op op = {.arena = arena_new()};
	parked_stop(&copy);
	unsigned before = changes;
	assert_int_equal(does(bench, &op, PARK, 7, "10-0"), VERDICT_DONE);
	assert_int_equal(changes, before + 1);
	assert_int_equal(does(bench, &op, BEHIND, 7, "11-0"), VERDICT_DONE);
	assert_int_equal(changes, before + 1);
	redis_just(bench->redis, "FLUSHALL");
	assert_int_equal(does(bench, &op, BEHIND, 7, "12-0"), VERDICT_GONE);
	assert_int_equal(changes, before + 2);
	arena_free(&op.arena);
}

static bool
is_loading(struct bench *bench)
{
	(void)bench;
	return parked.call != NULL;
}

/* As its channel tells it, while a page is under way that is older. */
static void
hears(const char *sign, unsigned number)
{
	const struct parked_lane of = lane(number);
	char hex[DIGEST_HEX + 1], notice[100];
	hex_encode(of.bytes, sizeof of.bytes, hex);
	snprintf(notice, sizeof notice, "source:orders\n%s%s", sign, hex);
	parked.hearing.heard(parked.hearing.arg, span_str(notice));
}

static void
what_is_freed_while_they_are_loaded_stays_free(void **state)
{
	struct bench *bench = *state;
	const struct parked_lane first = lane(0), second = lane(1);
	put_lanes(bench, 0, 3);
	redis_just(bench->redis, "CLIENT PAUSE 300");
	parked_load(&parked);
	bench_until(bench, is_loading);
	hears("-", 0);
	hears("-", 1);
	hears("+", 1);
	comes_to(bench, &parked, 2, true);
	assert_false(parked_has(&parked, &first));
	assert_true(parked_has(&parked, &second));
	assert_int_equal(parked_count(&parked), 2);
	/* Of what is loaded later it says nothing. */
	parked_load(&parked);
	comes_to(bench, &parked, 0, true);
}

static void
operators_see_it_in_pages(void **state)
{
	struct bench *bench = *state;
	struct parked_list list = {.arena = arena_new()};
	struct span after = SPAN("");
	unsigned seen = 0;
	put_lanes(bench, 0, MANY);
	do {
		bench_op(bench, &list.op);
		parked_list(&list, &shared, after, 100);
		assert_int_equal(bench_wait(bench, &list.op), 0);
		for (size_t i = 0; i < list.count; i++) {
			const struct parked_entry *e = &list.entries[i];
			assert_int_equal(e->since_ms, seen / 64);
			assert_int_equal(e->count, 2);
			assert_true(span_starts(e->first, SPAN("p")));
			assert_true(parked_list_is_place(e->place));
			after = e->place;
			seen++;
		}
	} while (list.count == 100);
	assert_int_equal(seen, MANY);
	assert_false(parked_list_is_place(SPAN("1")));
	arena_free(&list.arena);
}

static void
a_lane_too_many_is_refused(void **state)
{
	struct bench *bench = *state;
	struct parked_op op = {.arena = arena_new()};
	put_lanes(bench, 0, PARKED_LANES_MAX);
	parked_load(&parked);
	assert_false(parked_is_known(&parked));
	comes_to(bench, &parked, 0, true);
	assert_int_equal(does(bench, &op, PARK, PARKED_LANES_MAX, "1-0"),
	    VERDICT_REFUSED);
	assert_int_equal(parked_count(&parked), PARKED_LANES_MAX);
	/* Those that are parked may grow; and there is room again. */
	assert_int_equal(does(bench, &op, PARK, 5, "1-0"), VERDICT_DONE);
	assert_int_equal(op.count, 3);
	assert_int_equal(does(bench, &op, UNPARK, 5, ""), VERDICT_DONE);
	assert_int_equal(does(bench, &op, PARK, PARKED_LANES_MAX, "1-0"),
	    VERDICT_DONE);
	arena_free(&op.arena);
}

static bool gained;

static void
on_gained(void *arg)
{
	(void)arg;
	gained = true;
}

static void
on_lost(void *arg)
{
	(void)arg;
	gained = false;
}

static bool
is_gained(struct bench *bench)
{
	(void)bench;
	return gained;
}

static void
only_whose_turn_it_is_parks(void **state)
{
	struct bench *bench = *state;
	const struct leadership_events events = {on_gained, on_lost, NULL};
	struct parked_op op = {.arena = arena_new()};
	const struct parked_lane of = lane(1);
	struct leadership turn, late;
	leadership_start(
	    &turn, bench->store, bench->loop, "source", "orders", &events);
	bench_until(bench, is_gained);
	late = turn;
	owner_new(&late.token);

	bench_op(bench, &op.op);
	parked_park(&parked, &op, &of, SPAN("1-0"), &late);
	assert_int_equal(bench_wait(bench, &op.op), 0);
	assert_int_equal(op.op.verdict, VERDICT_FENCED);
	assert_false(parked_has(&parked, &of));
	bench_op(bench, &op.op);
	parked_park(&parked, &op, &of, SPAN("1-0"), &turn);
	assert_int_equal(bench_wait(bench, &op.op), 0);
	assert_int_equal(op.op.verdict, VERDICT_DONE);
	leadership_stop(&turn);
	arena_free(&op.arena);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(a_lane_is_parked_until_it_is_freed),
	    TEST(a_position_is_parked_once),
	    TEST(nothing_is_behind_a_lane_that_is_free),
	    TEST(what_is_parked_survives_and_is_loaded_page_by_page),
	    TEST(what_is_changed_here_is_told_once),
	    TEST(what_is_freed_while_they_are_loaded_stays_free),
	    TEST(operators_see_it_in_pages),
	    TEST(a_lane_too_many_is_refused),
	    TEST(only_whose_turn_it_is_parks),
	};
	return cmocka_run_group_tests_name("parked", tests, NULL, NULL);
}
