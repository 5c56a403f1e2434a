/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "lib/streams_bench.h"
#include "messages/broker/reader.h"

/*
 * What others have pending, under whatever name, when a group vanishes or while
 * somebody reads in order: nothing of it is left out, and nothing passes it.
 */

static void
finish_all(struct sbench_reader *r)
{
	while (r->first != NULL)
		sbench_finish_first(r);
}

static bool
is_blocked(struct sbench *bench)
{
	redisReply *reply = redis_do(bench->redis, "INFO clients");
	bool blocked = strstr(reply->str, "blocked_clients:0") == NULL;
	freeReplyObject(reply);
	return blocked;
}

/* It does not read any more, and hears of nothing but by what it asks next. */
static void
stop_reading(struct sbench *bench, struct sbench_reader *r)
{
	sbench_credit(r, 0);
	UNTIL(bench, !is_blocked(bench));
}

/* So much that each read comes with a look of its own. */
static void
let_pass_ms(struct sbench *bench, int ms)
{
	int64_t until_us = clock_us() + 1000 * (int64_t)ms;
	UNTIL(bench, clock_us() > until_us);
}

/* --- a group that vanishes --- */

/* It takes one entry, and is never heard of again. */
static void
take_one_as(struct sbench *bench, const char *name)
{
	redis_just(bench->redis,
	    "XREADGROUP GROUP g %s COUNT 1 STREAMS s >", name);
}

static bool
has(const struct sbench_reader *r, const char *n)
{
	for (const struct broker_message *m = r->first; m != NULL; m = m->next)
		if (strcmp(sbench_field(m, "n"), n) == 0)
			return true;
	return false;
}

/* n 1 is pending for somebody, and a has finished what came behind it. */
static struct sbench_reader *
pass_one_of(struct sbench *bench, const char *name)
{
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, sbench_is_up(a));
	stop_reading(bench, a);
	sbench_add(bench, 1);
	take_one_as(bench, name);
	redis_just(bench->redis, "XADD s * n 2");
	redis_just(bench->redis, "XADD s * n 3");
	sbench_credit(a, 10);
	UNTIL(bench, has(a, "3"));
	finish_all(a);
	redis_just(bench->redis, "XADD s * n 4");
	UNTIL(bench, has(a, "4"));
	finish_all(a);
	stop_reading(bench, a);
	let_pass_ms(bench, 50);
	return a;
}

static void
come_again_after(struct sbench *bench, struct sbench_reader *a)
{
	/* Who looks at what is pending for his name may have had it already. */
	bool came = a->taken == 4;
	redis_just(bench->redis, "XGROUP DESTROY s g");
	sbench_credit(a, 10);
	UNTIL(bench, came || sbench_pending(bench, "") > 0);
	UNTIL(bench, came || has(a, "1"));
	assert_int_equal(a->lost[BROKER_DELETED], 0);
	sbench_close(a);
}

static void
make_stream_anew(struct sbench *bench)
{
	redis_just(bench->redis, "MULTI");
	redis_just(bench->redis, "DEL s");
	redis_just(bench->redis, "XADD s 1-1 n low");
	redis_just(bench->redis, "XADD s 5-3 n same");
	redis_just(bench->redis, "XADD s 9-9 n high");
	redis_just(bench->redis, "EXEC");
}

/* Its ids are lower, the same and higher than those of the one before. */
static void
a_stream_that_was_made_anew_is_read_from_its_first_entry(void **state)
{
	struct sbench *bench = *state;
	redis_just(bench->redis, "XGROUP CREATE s g 0 MKSTREAM");
	for (int i = 1; i <= 9; i++)
		redis_just(bench->redis, "XADD s 5-%d n %d", i, i);
	bench->credit = 4;
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 4);
	sbench_finish_first(a);
	sbench_finish_first(a);
	/* Whoever reads has looked at it since. */
	UNTIL(bench, broker_reader_health(a->reader).lag == 5);
	make_stream_anew(bench);
	sbench_credit(a, 10);
	UNTIL(bench, a->taken == 7);
	/* Of one there is an entry that has its id. */
	assert_int_equal(a->lost[BROKER_DELETED], 1);
	assert_int_equal(a->lost[BROKER_TRIMMED_UNREAD], 5);
	assert_int_equal(a->recalled, 1);
	static const char *const names[] = {"low", "same", "high"};
	for (int i = 0; i < 3; i++) {
		assert_string_equal(sbench_field(a->first, "n"), names[i]);
		sbench_finish_first(a);
	}
	assert_int_equal(sbench_pending(bench, ""), 0);
	/* A group that vanishes of the same stream goes on where it was. */
	redis_just(bench->redis, "XGROUP DESTROY s g");
	redis_just(bench->redis, "XADD s 9-10 n next");
	UNTIL(bench, has(a, "next"));
	finish_all(a);
	assert_int_equal(a->lost[BROKER_DELETED], 1);
	assert_int_equal(a->lost[BROKER_TRIMMED_UNREAD], 5);
	sbench_close(a);
}

/* As after a failover to one that lagged: what it has comes again. */
static void
an_older_state_of_a_stream_is_read_again(void **state)
{
	struct sbench *bench = *state;
	sbench_add(bench, 3);
	redis_just(bench->redis, "SAVE");
	bench->credit = 10;
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 3);
	sbench_finish_first(a);
	redis_just(bench->redis, "XADD s * n 4");
	UNTIL(bench, a->taken == 4);
	let_pass_ms(bench, 50);
	redis_kill(bench->redis);
	redis_again(bench->redis);
	UNTIL(bench, a->taken == 7);
	assert_int_equal(a->recalled, 1);
	assert_int_equal(a->lost[BROKER_DELETED], 1);
	assert_int_equal(a->lost[BROKER_TRIMMED_UNREAD], 0);
	/* Its result may have been put, as far as anybody knows. */
	for (struct broker_message *m = a->first; m != NULL; m = m->next)
		assert_true(m->may_be_put);
	redis_just(bench->redis, "XADD s * n 5");
	UNTIL(bench, a->taken == 8);
	finish_all(a);
	assert_int_equal(sbench_pending(bench, ""), 0);
	sbench_close(a);
}

/* The look that finds no group forgets nothing of those before. */
static void
what_a_dead_reader_had_comes_again(void **state)
{
	struct sbench *bench = *state;
	come_again_after(bench, pass_one_of(bench, "dead"));
}

static void
what_a_dead_namesake_had_comes_again(void **state)
{
	struct sbench *bench = *state;
	come_again_after(bench, pass_one_of(bench, "a"));
}

/* --- an order --- */

static const char *
first_n(struct sbench_reader *r)
{
	return r->first != NULL ? sbench_field(r->first, "n") : "";
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
	stop_reading(bench, a);
	struct broker_message *held = sbench_shift(a);
	redis_just(bench->redis, "XACK s g %s", held->position.ptr);
	redis_just(bench->redis, "XADD s * n late");
	take_one_as(bench, "a");
	redis_just(bench->redis, "XADD s * n next");
	sbench_credit(a, 1);
	UNTIL(bench, a->taken == 3);
	sbench_finish_first(a);
	assert_string_equal(first_n(a), "late");
	sbench_finish_first(a);
	sbench_credit(a, 10);
	UNTIL(bench, a->taken == 4);
	assert_string_equal(first_n(a), "next");
	sbench_finish_first(a);
	assert_int_equal(sbench_pending(bench, ""), 0);
	broker_message_free(&held);
	sbench_close(a);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown( \
	    name, sbench_set_up, sbench_tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(a_stream_that_was_made_anew_is_read_from_its_first_entry),
	    TEST(an_older_state_of_a_stream_is_read_again),
	    TEST(what_a_dead_reader_had_comes_again),
	    TEST(what_a_dead_namesake_had_comes_again),
	    TEST(nothing_passes_what_a_namesake_reads_late),
	};
	return cmocka_run_group_tests_name("streams_group", tests, NULL, NULL);
}
