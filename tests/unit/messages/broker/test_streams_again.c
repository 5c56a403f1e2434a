/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "lib/streams_bench.h"
#include "messages/broker/reader.h"

/*
 * Connections break, servers die and readers freeze: nothing is left lying, is
 * handed over twice on one reader, or put by one that lost it.
 */

/* The ids of clients that block, or of all of ours; the first number. */
static long long
blocked_client(struct sbench *bench)
{
	redisReply *list = redis_do(bench->redis, "CLIENT LIST");
	long long id = 0;
	for (char *line = list->str; line != NULL && *line != '\0';) {
		char *end = strchr(line, '\n');
		char *flags = strstr(line, " flags=b");
		if (flags != NULL && flags < end)
			id = strtoll(line + 3, NULL, 10);
		line = end != NULL ? end + 1 : NULL;
	}
	freeReplyObject(list);
	return id;
}

static void
kill_blocked(struct sbench *bench)
{
	long long id = 0;
	UNTIL(bench, (id = blocked_client(bench)) != 0);
	redis_just(bench->redis, "CLIENT KILL ID %lld", id);
}

static void
kill_all(struct sbench *bench)
{
	redis_just(bench->redis, "CLIENT KILL TYPE normal");
}

/* The test's own reader, which never works on what it takes. */
static void
take_as(struct sbench *bench, const char *consumer, int count)
{
	redis_just(bench->redis,
	    "XREADGROUP GROUP g %s COUNT %d STREAMS s >", consumer, count);
}

static void
make_group(struct sbench *bench)
{
	redis_just(bench->redis, "XGROUP CREATE s g 0 MKSTREAM");
}

/* --- after a connection --- */

static void
what_was_pending_before_comes_first(void **state)
{
	struct sbench *bench = *state;
	make_group(bench);
	sbench_add(bench, 10);
	take_as(bench, "a", 4);
	bench->credit = 3;
	struct sbench_reader *a = sbench_open(bench, "a");
	for (unsigned i = 1; i <= 10; i++) {
		char number[8];
		UNTIL(bench, a->first != NULL);
		snprintf(number, sizeof number, "%u", i);
		assert_string_equal(sbench_field(a->first, "n"), number);
		assert_int_equal(a->first->again, i <= 4);
		sbench_finish_first(a);
		sbench_credit(a, 1);
	}
	assert_int_equal(a->taken, 10);
	sbench_close(a);
}

static void
a_lost_connection_brings_nothing_twice(void **state)
{
	struct sbench *bench = *state;
	sbench_add(bench, 5);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 5);
	for (int i = 0; i < 3; i++) {
		kill_blocked(bench);
		UNTIL(bench, !sbench_is_up(a));
		UNTIL(bench, sbench_is_up(a) && blocked_client(bench) != 0);
	}
	kill_all(bench);
	sbench_add(bench, 1);
	UNTIL(bench, a->taken == 6);
	assert_int_equal(sbench_pending(bench, "a"), 6);
	while (a->first != NULL)
		sbench_finish_first(a);
	sbench_close(a);
}

/* As where an entry came to a connection that was just cut. */
static void
what_a_lost_connection_took_comes_again(void **state)
{
	struct sbench *bench = *state;
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, blocked_client(bench) != 0);
	redis_just(
	    bench->redis, "CLIENT KILL ID %lld", blocked_client(bench));
	sbench_add(bench, 2);
	take_as(bench, "a", 1);
	UNTIL(bench, a->taken == 2);
	assert_string_equal(sbench_field(a->first, "n"), "1");
	sbench_close(a);
}

static void
what_is_given_back_comes_after_a_connection(void **state)
{
	struct sbench *bench = *state;
	sbench_add(bench, 2);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 2);
	struct broker_message *m = sbench_shift(a);
	broker_reader_give_back(a->reader, m);
	UNTIL(bench, blocked_client(bench) != 0);
	kill_blocked(bench);
	UNTIL(bench, a->taken == 3);
	assert_string_equal(a->first->next->position.ptr, m->position.ptr);
	broker_message_free(&m);
	sbench_close(a);
}

static void
a_broker_that_is_away_at_first_is_waited_for(void **state)
{
	struct sbench *bench = *state;
	sbench_add(bench, 1);
	redis_kill(bench->redis);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->changed > 2);
	redis_again(bench->redis);
	UNTIL(bench, a->taken == 1);
	sbench_close(a);
}

/* The reply is lost, and the command was executed. */
static void
an_acknowledgement_without_a_reply_is_done_once(void **state)
{
	struct sbench *bench = *state;
	struct sbench_finish *f = sbench_finish_new(bench);
	const struct broker_put put = {.place = BROKER_RESULTS,
	    .has_body = true, .body = SPAN("x")};
	bench->broker.redis.timeout_ms = 500;
	sbench_add(bench, 1);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 1 && blocked_client(bench) != 0);
	redis_freeze(bench->redis);
	assert_int_equal(
	    sbench_finish(a, f, a->first, &put), E_BROKER_DOWN);
	redis_thaw(bench->redis);
	UNTIL(bench, sbench_is_up(a));
	assert_int_equal(sbench_finish(a, f, a->first, &put), 0);
	assert_int_equal(redis_integer(bench->redis, "XLEN r"), 1);
	assert_int_equal(sbench_pending(bench, ""), 0);
	assert_int_equal(a->lost[BROKER_DELETED], 0);
	assert_int_equal(a->taken, 1);
	sbench_close(a);
}

/* --- other readers --- */

static void
what_a_reader_that_is_gone_had_is_taken_over(void **state)
{
	struct sbench *bench = *state;
	make_group(bench);
	sbench_add(bench, 3);
	take_as(bench, "gone", 3);
	bench->lease_ms = 300;
	int64_t began_us = clock_us();
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 3);
	assert_true(clock_us() - began_us >= 500000);
	assert_true(a->first->again);
	sbench_close(a);
}

static void
what_a_reader_that_lives_has_is_left_to_it(void **state)
{
	struct sbench *bench = *state;
	bench->lease_ms = 300;
	bench->credit = 250;
	sbench_add(bench, 250);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 250);
	sbench_credit(a, 0);
	struct sbench_reader *b = sbench_open(bench, "b");
	int64_t until_us = clock_us() + 2000000;
	while (clock_us() < until_us)
		sbench_turn(bench);
	assert_int_equal(b->taken, 0);
	assert_int_equal(sbench_pending(bench, "a"), 250);
	/* A heartbeat is no delivery. */
	redisReply *one = redis_do(bench->redis, "XPENDING s g - + 1 a");
	assert_int_equal(one->element[0]->element[3]->integer, 1);
	freeReplyObject(one);
	sbench_close(a);
	sbench_close(b);
}

/* As a reader that was frozen, and has lost its entry to another one. */
static void
steal(struct sbench *bench, const char *position, const char *consumer)
{
	redis_just(bench->redis, "XCLAIM s g %s 0 %s", consumer, position);
}

static void
a_frozen_reader_puts_nothing(void **state)
{
	struct sbench *bench = *state;
	struct sbench_finish *f = sbench_finish_new(bench);
	const struct broker_put put = {.place = BROKER_RESULTS,
	    .has_body = true, .body = SPAN("x")};
	sbench_add(bench, 2);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 2);
	steal(bench, a->first->position.ptr, "b");
	assert_int_equal(sbench_finish(a, f, a->first, &put), 0);
	assert_int_equal(redis_integer(bench->redis, "XLEN r"), 0);
	assert_int_equal(f->finish.finished, BROKER_ELSEWHERE);
	assert_int_equal(sbench_pending(bench, "b"), 1);
	/* The other one has finished it. */
	redis_just(bench->redis, "XACK s g %s", a->first->next->position.ptr);
	assert_int_equal(sbench_finish(a, f, a->first->next, &put), 0);
	assert_int_equal(f->finish.finished, BROKER_NOT_PENDING);
	assert_int_equal(redis_integer(bench->redis, "XLEN r"), 0);
	for (int i = 0; i < 20; i++)
		sbench_turn(bench);
	assert_int_equal(a->lost[BROKER_DELETED], 0);
	sbench_close(a);
}

static void
a_reader_takes_nothing_back_from_another_one(void **state)
{
	struct sbench *bench = *state;
	bench->lease_ms = 300;
	sbench_add(bench, 3);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 3);
	steal(bench, a->first->position.ptr, "b");
	steal(bench, a->first->next->position.ptr, "b");
	/* It beats, and gives back, what is its own. */
	int64_t until_us = clock_us() + 400000;
	while (clock_us() < until_us)
		sbench_turn(bench);
	assert_int_equal(sbench_pending(bench, "b"), 2);
	struct broker_message *m = sbench_shift(a);
	broker_reader_give_back(a->reader, m);
	broker_message_free(&m);
	sbench_close(a);
	assert_int_equal(sbench_pending(bench, "b"), 2);
}

/* Two gateways of one name are safe. */
static void
readers_of_one_name_put_one_result(void **state)
{
	struct sbench *bench = *state;
	struct sbench_finish *f = sbench_finish_new(bench);
	const struct broker_put put = {.place = BROKER_RESULTS,
	    .has_body = true, .body = SPAN("x")};
	sbench_add(bench, 1);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 1);
	struct sbench_reader *b = sbench_open(bench, "a");
	UNTIL(bench, b->taken == 1);
	assert_int_equal(sbench_finish(a, f, a->first, &put), 0);
	assert_int_equal(f->finish.finished, BROKER_FINISHED);
	assert_int_equal(sbench_finish(b, f, b->first, &put), 0);
	assert_int_equal(f->finish.finished, BROKER_NOT_PENDING);
	assert_int_equal(redis_integer(bench->redis, "XLEN r"), 1);
	for (int i = 0; i < 20; i++)
		sbench_turn(bench);
	assert_int_equal(b->lost[BROKER_DELETED], 0);
	sbench_close(a);
	sbench_close(b);
}

/* --- an order's reader --- */

/* As an owner does it: until it is known. */
static void
finish_in_the_end(struct sbench_reader *r)
{
	struct sbench_finish *f = sbench_finish_new(r->bench);
	struct broker_message *message = sbench_shift(r);
	int error;
	do
		error = sbench_finish(r, f, message, NULL);
	while (error == E_BROKER_DOWN);
	assert_int_equal(error, 0);
	broker_message_free(&message);
}

static void
expect_order(struct sbench *bench, struct sbench_reader *a, unsigned first,
    unsigned last)
{
	for (unsigned i = first; i <= last; i++) {
		char number[8];
		UNTIL(bench, a->first != NULL);
		snprintf(number, sizeof number, "%u", i);
		assert_string_equal(sbench_field(a->first, "n"), number);
		finish_in_the_end(a);
		sbench_credit(a, 1);
	}
}

static void
a_sole_reader_takes_what_others_had_in_order(void **state)
{
	struct sbench *bench = *state;
	make_group(bench);
	sbench_add(bench, 40);
	for (int i = 0; i < 10; i++) {
		take_as(bench, "b", 1);
		take_as(bench, "a", 1);
		take_as(bench, "c", 1);
	}
	bench->sole = true;
	bench->credit = 4;
	struct sbench_reader *a = sbench_open(bench, "a");
	expect_order(bench, a, 1, 40);
	sbench_close(a);
}

/*
 * Who had the turn before reads once more, and has our name.  What is in hand
 * and not pending any more, as somebody else has acknowledged it, hides nothing
 * of that.
 */
static void
nothing_passes_what_a_namesake_reads_late(void **state)
{
	struct sbench *bench = *state;
	bench->sole = true;
	sbench_add(bench, 2);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 2);
	/* It does not read any more. */
	sbench_credit(a, 0);
	UNTIL(bench, blocked_client(bench) == 0);
	struct broker_message *held = sbench_shift(a);
	redis_just(bench->redis, "XACK s g %s", held->position.ptr);
	redis_just(bench->redis, "XADD s * n late");
	take_as(bench, "a", 1);
	redis_just(bench->redis, "XADD s * n next");
	sbench_credit(a, 1);
	UNTIL(bench, a->taken == 3);
	sbench_finish_first(a);
	assert_string_equal(sbench_field(a->first, "n"), "late");
	sbench_finish_first(a);
	sbench_credit(a, 10);
	UNTIL(bench, a->taken == 4);
	assert_string_equal(sbench_field(a->first, "n"), "next");
	sbench_finish_first(a);
	assert_int_equal(sbench_pending(bench, ""), 0);
	broker_message_free(&held);
	sbench_close(a);
}

/*
 * It has lost its turn, and does not know yet: what it has decided may not hold
 * any more.
 */
static void
a_sole_reader_of_before_puts_nothing(void **state)
{
	struct sbench *bench = *state;
	struct sbench_finish *f = sbench_finish_new(bench);
	const struct broker_put put = {.place = BROKER_DEAD_LETTERS,
	    .has_body = true, .body = SPAN("x")};
	sbench_add(bench, 3);
	bench->sole = true;
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 3);
	/* Still its own. */
	assert_int_equal(sbench_finish(a, f, a->first, &put), 0);
	assert_int_equal(f->finish.finished, BROKER_FINISHED);
	struct broker_message *first = sbench_shift(a);
	broker_message_free(&first);
	struct sbench_reader *b = sbench_open(bench, "b");
	UNTIL(bench, b->taken == 2);
	assert_int_equal(sbench_finish(a, f, a->first, &put), 0);
	assert_int_equal(f->finish.finished, BROKER_ELSEWHERE);
	assert_int_equal(sbench_finish(b, f, b->first, &put), 0);
	assert_int_equal(f->finish.finished, BROKER_FINISHED);
	assert_int_equal(redis_integer(bench->redis, "XLEN d"), 2);
	/* Taken once more by itself, as after a connection that was lost. */
	sbench_close(a);
	first = sbench_shift(b);
	broker_message_free(&first);
	redis_just(bench->redis, "CLIENT KILL TYPE normal");
	UNTIL(bench, !sbench_is_up(b));
	assert_int_equal(sbench_finish(b, f, b->first, &put), 0);
	assert_int_equal(f->finish.finished, BROKER_FINISHED);
	assert_int_equal(redis_integer(bench->redis, "XLEN d"), 3);
	assert_int_equal(sbench_pending(bench, ""), 0);
	sbench_close(b);
}

/* The reader before it still had a read that blocks. */
static void
what_another_one_took_meanwhile_goes_first(void **state)
{
	struct sbench *bench = *state;
	bench->sole = true;
	bench->credit = 1;
	sbench_add(bench, 1);
	struct sbench_reader *a = sbench_open(bench, "a");
	expect_order(bench, a, 1, 1);
	UNTIL(bench, blocked_client(bench) != 0);
	redis_just(bench->redis, "EVAL %s 1 s",
	    "for i = 2, 4 do redis.call('XADD', KEYS[1], '*', 'n', i) end "
	    "redis.call('XREADGROUP', 'GROUP', 'g', 'b', 'COUNT', 2, "
	    "'STREAMS', KEYS[1], '>')");
	expect_order(bench, a, 2, 4);
	assert_int_equal(sbench_pending(bench, ""), 0);
	sbench_close(a);
}

/* Under its own name, by a connection that is gone. */
static void
what_it_took_without_knowing_goes_first(void **state)
{
	struct sbench *bench = *state;
	bench->sole = true;
	bench->credit = 2;
	sbench_add(bench, 1);
	struct sbench_reader *a = sbench_open(bench, "a");
	expect_order(bench, a, 1, 1);
	UNTIL(bench, blocked_client(bench) != 0);
	redis_just(bench->redis, "EVAL %s 1 s",
	    "for i = 2, 5 do redis.call('XADD', KEYS[1], '*', 'n', i) end "
	    "redis.call('XREADGROUP', 'GROUP', 'g', 'a', 'COUNT', 3, "
	    "'STREAMS', KEYS[1], '>')");
	expect_order(bench, a, 2, 5);
	sbench_close(a);
}

static void
a_sole_reader_stays_in_order_as_connections_break(void **state)
{
	struct sbench *bench = *state;
	bench->sole = true;
	bench->credit = 7;
	sbench_add(bench, 100);
	struct sbench_reader *a = sbench_open(bench, "a");
	for (unsigned i = 1; i <= 100; i += 10) {
		expect_order(bench, a, i, i + 9);
		kill_all(bench);
	}
	assert_int_equal(a->taken, 100);
	sbench_close(a);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown( \
	    name, sbench_set_up_lasting, sbench_tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(what_was_pending_before_comes_first),
	    TEST(a_lost_connection_brings_nothing_twice),
	    TEST(what_a_lost_connection_took_comes_again),
	    TEST(what_is_given_back_comes_after_a_connection),
	    TEST(a_broker_that_is_away_at_first_is_waited_for),
	    TEST(an_acknowledgement_without_a_reply_is_done_once),
	    TEST(what_a_reader_that_is_gone_had_is_taken_over),
	    TEST(what_a_reader_that_lives_has_is_left_to_it),
	    TEST(a_frozen_reader_puts_nothing),
	    TEST(a_reader_takes_nothing_back_from_another_one),
	    TEST(readers_of_one_name_put_one_result),
	    TEST(a_sole_reader_takes_what_others_had_in_order),
	    TEST(nothing_passes_what_a_namesake_reads_late),
	    TEST(a_sole_reader_of_before_puts_nothing),
	    TEST(what_another_one_took_meanwhile_goes_first),
	    TEST(what_it_took_without_knowing_goes_first),
	    TEST(a_sole_reader_stays_in_order_as_connections_break),
	};
	return cmocka_run_group_tests_name(
	    "streams_again", tests, NULL, NULL);
}
