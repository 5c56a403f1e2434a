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
 * What the broker has lost is noticed and counted, each entry once; and a group
 * that has vanished is made again where nothing else is lost by that.
 */

static void
some_turns(struct sbench *bench)
{
	for (int i = 0; i < 30; i++)
		sbench_turn(bench);
}

static void
finish_all(struct sbench_reader *r)
{
	while (r->first != NULL)
		sbench_finish_first(r);
}

static int64_t
lag(const struct sbench_reader *r)
{
	return broker_reader_health(r->reader).lag;
}

static const struct broker_put result = {
    .place = BROKER_RESULTS, .has_body = true, .body = SPAN("x")};

/* --- trimmed before it was read --- */

static void
what_is_trimmed_unread_is_counted_once(void **state)
{
	struct sbench *bench = *state;
	sbench_add(bench, 10);
	bench->credit = 4;
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 4);
	finish_all(a);
	redis_just(bench->redis, "XTRIM s MAXLEN 3");
	sbench_credit(a, 10);
	UNTIL(bench, a->taken == 7 && a->lost[BROKER_TRIMMED_UNREAD] > 0);
	assert_int_equal(a->lost[BROKER_TRIMMED_UNREAD], 3);
	assert_string_equal(a->lost_position, "");
	assert_string_equal(sbench_field(a->first, "n"), "8");
	finish_all(a);
	sbench_add(bench, 2);
	UNTIL(bench, a->taken == 9 && lag(a) == 0);
	redis_just(bench->redis, "CLIENT KILL TYPE normal");
	sbench_add(bench, 1);
	UNTIL(bench, a->taken == 10);
	sbench_close(a);
	struct sbench_reader *b = sbench_open(bench, "b");
	UNTIL(bench, sbench_is_up(b) && lag(b) == 0);
	assert_int_equal(a->lost[BROKER_TRIMMED_UNREAD], 3);
	assert_int_equal(b->lost[BROKER_TRIMMED_UNREAD], 0);
	sbench_close(b);
}

static void
what_was_trimmed_while_nobody_read_is_counted(void **state)
{
	struct sbench *bench = *state;
	sbench_add(bench, 5);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 5);
	finish_all(a);
	sbench_close(a);
	sbench_add(bench, 20);
	redis_just(bench->redis, "XTRIM s MAXLEN 0");
	sbench_add(bench, 2);
	struct sbench_reader *b = sbench_open(bench, "b");
	UNTIL(bench, b->taken == 2);
	assert_int_equal(b->lost[BROKER_TRIMMED_UNREAD], 20);
	UNTIL(bench, lag(b) == 0);
	assert_int_equal(b->lost[BROKER_TRIMMED_UNREAD], 20);
	sbench_close(b);
}

/* The last look is over, and the next read comes with one of its own. */
static void
look_is_over(struct sbench *bench, struct sbench_reader *r, int64_t lag_then)
{
	UNTIL(bench, lag(r) == lag_then);
	int64_t until_us = clock_us() + 50000;
	UNTIL(bench, clock_us() > until_us);
}

/* What was read is still in the stream, as it is where nobody trims it. */
static void
what_is_deleted_unread_is_counted_once(void **state)
{
	struct sbench *bench = *state;
	const char *ids[] = {"5-3", "5-4", "5-6", "5-10"};
	redis_just(bench->redis, "XGROUP CREATE s g 0 MKSTREAM");
	for (int i = 1; i <= 10; i++)
		redis_just(bench->redis, "XADD s 5-%d n %d", i, i);
	bench->credit = 2;
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 2);
	look_is_over(bench, a, 8);
	for (int i = 0; i < 4; i++)
		redis_just(bench->redis, "XDEL s %s", ids[i]);
	finish_all(a);
	for (unsigned i = 3; i <= 6; i++) {
		sbench_credit(a, 1);
		UNTIL(bench, a->taken == i);
		some_turns(bench);
	}
	assert_int_equal(a->lost[BROKER_TRIMMED_UNREAD], 4);
	finish_all(a);
	look_is_over(bench, a, 0);
	/* Of what is behind the last that was ever there, too. */
	redis_just(bench->redis, "MULTI");
	redis_just(bench->redis, "XADD s 5-11 n 11");
	redis_just(bench->redis, "XADD s 5-12 n 12");
	redis_just(bench->redis, "XDEL s 5-11 5-12");
	redis_just(bench->redis, "EXEC");
	sbench_credit(a, 10);
	UNTIL(bench, a->lost[BROKER_TRIMMED_UNREAD] == 6);
	redis_just(bench->redis, "XADD s 5-13 n 13");
	UNTIL(bench, a->taken == 7 && lag(a) == 0);
	some_turns(bench);
	assert_int_equal(a->lost[BROKER_TRIMMED_UNREAD], 6);
	finish_all(a);
	sbench_close(a);
}

static void
what_was_deleted_while_nobody_read_is_counted(void **state)
{
	struct sbench *bench = *state;
	sbench_add(bench, 1);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 1 && lag(a) == 0);
	finish_all(a);
	sbench_close(a);
	for (int i = 1; i <= 9; i++)
		redis_just(bench->redis, "XADD s 9000000000000-%d n 1", i);
	redis_just(bench->redis,
	    "XDEL s 9000000000000-2 9000000000000-3 9000000000000-9");
	struct sbench_reader *b = sbench_open(bench, "b");
	UNTIL(bench, b->taken == 6 && lag(b) == 0);
	assert_int_equal(b->lost[BROKER_TRIMMED_UNREAD], 3);
	/* What was read, and is deleted then, is no loss. */
	redis_just(bench->redis, "XDEL s %s", b->first->position.ptr);
	redis_just(bench->redis, "XADD s 9000000000000-10 n 1");
	UNTIL(bench, b->taken == 7 && lag(b) == 0);
	some_turns(bench);
	assert_int_equal(b->lost[BROKER_TRIMMED_UNREAD], 3);
	sbench_close(b);
}

/* Its readers would each find the same. */
static void
several_readers_count_a_loss_once(void **state)
{
	struct sbench *bench = *state;
	struct sbench_reader *r[4];
	sbench_add(bench, 10);
	redis_just(bench->redis, "XGROUP CREATE s g 0 ENTRIESREAD 0");
	redis_just(bench->redis, "XTRIM s MAXLEN 4");
	bench->credit = 1;
	for (int i = 0; i < 4; i++) {
		char name[2] = {(char)('a' + i), '\0'};
		r[i] = sbench_open(bench, name);
	}
	UNTIL(bench,
	    r[0]->taken + r[1]->taken + r[2]->taken + r[3]->taken == 4);
	some_turns(bench);
	uint64_t lost = 0;
	for (int i = 0; i < 4; i++) {
		lost += r[i]->lost[BROKER_TRIMMED_UNREAD];
		sbench_close(r[i]);
	}
	assert_int_equal(lost, 6);
}

/* --- a Redis that restarts --- */

/*
 * What has been read is in its file, and how many that were is not: it counts
 * from the last time that it was told.
 */
static void
restart(struct sbench *bench)
{
	redis_kill(bench->redis);
	redis_again(bench->redis);
}

static bool
was_told(struct sbench *bench)
{
	redisReply *reply = redis_do(bench->redis, "INFO commandstats");
	bool told = strstr(reply->str, "cmdstat_xgroup|setid") != NULL;
	freeReplyObject(reply);
	return told;
}

static void
what_was_read_before_a_restart_is_no_loss(void **state)
{
	struct sbench *bench = *state;
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, sbench_is_up(a));
	for (unsigned i = 1; i <= 3; i++) {
		sbench_add(bench, 5);
		UNTIL(bench, a->taken == 5 * i);
		finish_all(a);
		restart(bench);
		UNTIL(bench, sbench_is_up(a) && lag(a) == 0);
	}
	sbench_add(bench, 5);
	bench->credit = 2;
	sbench_close(a);
	struct sbench_reader *b = sbench_open(bench, "b");
	UNTIL(bench, b->taken == 2);
	restart(bench);
	UNTIL(bench, sbench_is_up(b));
	sbench_credit(b, 10);
	UNTIL(bench, b->taken == 5 && lag(b) == 0);
	finish_all(b);
	sbench_add(bench, 1);
	UNTIL(bench, b->taken == 6 && lag(b) == 0);
	assert_int_equal(a->lost[BROKER_TRIMMED_UNREAD], 0);
	assert_int_equal(b->lost[BROKER_TRIMMED_UNREAD], 0);
	sbench_close(b);
}

static void
what_is_trimmed_after_a_restart_is_counted_right(void **state)
{
	struct sbench *bench = *state;
	sbench_add(bench, 5);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 5);
	finish_all(a);
	UNTIL(bench, was_told(bench));
	sbench_close(a);
	restart(bench);
	sbench_add(bench, 4);
	redis_just(bench->redis, "XTRIM s MAXLEN 1");
	struct sbench_reader *b = sbench_open(bench, "b");
	UNTIL(bench, b->taken == 1 && lag(b) == 0);
	assert_int_equal(b->lost[BROKER_TRIMMED_UNREAD], 3);
	sbench_close(b);
}

static void
a_loss_is_not_forgotten_with_a_connection(void **state)
{
	struct sbench *bench = *state;
	sbench_add(bench, 10);
	bench->credit = 4;
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 4);
	redis_just(bench->redis, "XTRIM s MAXLEN 3");
	redis_just(bench->redis, "CLIENT KILL TYPE normal");
	UNTIL(bench, !sbench_is_up(a));
	sbench_credit(a, 10);
	UNTIL(bench, a->taken == 7 && lag(a) == 0);
	assert_int_equal(a->lost[BROKER_TRIMMED_UNREAD], 3);
	sbench_close(a);
}

/* A stream that is kept short loses nothing that was read. */
static void
what_is_trimmed_after_it_was_read_is_no_loss(void **state)
{
	struct sbench *bench = *state;
	sbench_add(bench, 5);
	redis_just(bench->redis, "XTRIM s MAXLEN 3");
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 3);
	for (unsigned i = 0; i < 10; i++) {
		finish_all(a);
		redis_just(bench->redis, "XTRIM s MAXLEN 0");
		redis_just(bench->redis, "XADD s MAXLEN 2 * n x");
		UNTIL(bench, a->taken == 4 + i);
	}
	redis_just(bench->redis, "XDEL s %s", a->first->position.ptr);
	finish_all(a);
	sbench_add(bench, 1);
	UNTIL(bench, a->taken == 14 && lag(a) == 0);
	some_turns(bench);
	for (int how = 0; how < BROKER_LOSS_COUNT_; how++)
		assert_int_equal(a->lost[how], 0);
	sbench_close(a);
}

/* --- gone while it was pending --- */

static void
a_pending_entry_whose_bytes_are_gone_is_lost(void **state)
{
	struct sbench *bench = *state;
	redis_just(bench->redis, "XGROUP CREATE s g 0 MKSTREAM");
	redis_just(bench->redis, "XADD s 5-1 n 1");
	redis_just(bench->redis, "XADD s 5-2 n 2");
	redis_just(bench->redis, "XADD s 5-3 n 3");
	redis_just(bench->redis, "XREADGROUP GROUP g a STREAMS s >");
	redis_just(bench->redis, "XDEL s 5-2");
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 2 && a->lost[BROKER_TRIMMED_PENDING] == 1);
	assert_string_equal(a->lost_position, "5-2");
	assert_int_equal(sbench_pending(bench, "a"), 2);
	redis_just(bench->redis, "CLIENT KILL TYPE normal");
	UNTIL(bench, !sbench_is_up(a));
	UNTIL(bench, sbench_is_up(a));
	some_turns(bench);
	assert_int_equal(a->lost[BROKER_TRIMMED_PENDING], 1);
	finish_all(a);
	sbench_close(a);
}

static void
the_same_of_a_reader_that_is_gone(void **state)
{
	struct sbench *bench = *state;
	redis_just(bench->redis, "XGROUP CREATE s g 0 MKSTREAM");
	sbench_add(bench, 4);
	redis_just(bench->redis, "XREADGROUP GROUP g gone STREAMS s >");
	redis_just(bench->redis, "XTRIM s MAXLEN 1");
	bench->lease_ms = 200;
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 1 && a->lost[BROKER_TRIMMED_PENDING] == 3);
	finish_all(a);
	sbench_close(a);
}

/* We have its bytes, so its result can still be put. */
static void
what_is_trimmed_while_it_is_in_hand_can_be_finished(void **state)
{
	struct sbench *bench = *state;
	struct sbench_finish *f = sbench_finish_new(bench);
	bench->lease_ms = 900;
	sbench_add(bench, 4);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 4);
	redis_just(bench->redis, "XTRIM s MAXLEN 1");
	redis_just(bench->redis, "CLIENT KILL TYPE normal");
	/* Past a heartbeat. */
	int64_t until_us = clock_us() + 700000;
	while (clock_us() < until_us)
		sbench_turn(bench);
	assert_int_equal(sbench_pending(bench, "a"), 4);
	assert_int_equal(sbench_finish(a, f, a->first, &result), 0);
	assert_int_equal(f->finish.finished, BROKER_FINISHED);
	UNTIL(bench, clock_us() > until_us + 1500000);
	const struct broker_message *m = a->first->next;
	assert_int_equal(sbench_finish(a, f, m, &result), 0);
	assert_int_equal(f->finish.finished, BROKER_FINISHED);
	assert_int_equal(redis_integer(bench->redis, "XLEN r"), 2);
	assert_int_equal(a->lost[BROKER_TRIMMED_PENDING], 0);
	/* Another reader finds that nobody can take it over. */
	struct sbench_reader *b = sbench_open(bench, "b");
	UNTIL(bench, b->lost[BROKER_TRIMMED_PENDING] == 1);
	assert_string_equal(b->lost_position, m->next->position.ptr);
	assert_int_equal(sbench_pending(bench, "a"), 1);
	sbench_close(a);
	sbench_close(b);
}

/* The same, of one that was deleted. */
static void
what_is_deleted_while_it_is_in_hand_can_be_finished(void **state)
{
	struct sbench *bench = *state;
	struct sbench_finish *f = sbench_finish_new(bench);
	bench->lease_ms = 300;
	sbench_add(bench, 3);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 3);
	redis_just(bench->redis, "XDEL s %s", a->first->position.ptr);
	/* Past a heartbeat. */
	int64_t until_us = clock_us() + 200000;
	UNTIL(bench, clock_us() > until_us);
	assert_int_equal(sbench_finish(a, f, a->first, &result), 0);
	assert_int_equal(f->finish.finished, BROKER_FINISHED);
	assert_int_equal(redis_integer(bench->redis, "XLEN r"), 1);
	for (int how = 0; how < BROKER_LOSS_COUNT_; how++)
		assert_int_equal(a->lost[how], 0);
	sbench_close(a);
}

static void
what_was_deleted_before_it_is_given_back_is_lost(void **state)
{
	struct sbench *bench = *state;
	bench->lease_ms = 300;
	sbench_add(bench, 2);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 2);
	sbench_finish_first(a);
	redis_just(bench->redis, "XDEL s %s", a->first->position.ptr);
	struct broker_message *m = sbench_shift(a);
	broker_reader_give_back(a->reader, m);
	UNTIL(bench, a->lost[BROKER_TRIMMED_PENDING] == 1);
	assert_int_equal(sbench_pending(bench, "a"), 0);
	broker_message_free(&m);
	sbench_close(a);
}

static void
a_consumer_that_was_deleted_has_lost_what_it_had(void **state)
{
	struct sbench *bench = *state;
	struct sbench_finish *f = sbench_finish_new(bench);
	sbench_add(bench, 1);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 1);
	redis_just(bench->redis, "XGROUP DELCONSUMER s g a");
	assert_int_equal(sbench_finish(a, f, a->first, NULL), 0);
	assert_int_equal(f->finish.finished, BROKER_NOT_PENDING);
	UNTIL(bench, a->lost[BROKER_DELETED] == 1);
	sbench_close(a);
}

/* --- a group that vanishes --- */

static void
find_all_gone(struct sbench_reader *r)
{
	while (r->first != NULL) {
		struct sbench_finish *f = sbench_finish_new(r->bench);
		struct broker_message *m = sbench_shift(r);
		assert_int_equal(sbench_finish(r, f, m, NULL), 0);
		assert_int_equal(f->finish.finished, BROKER_NOT_PENDING);
		broker_message_free(&m);
	}
}

static void
a_stream_that_was_made_anew_is_read_from_its_first_entry(void **state)
{
	struct sbench *bench = *state;
	bench->source.start_latest = true;
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, lag(a) == 0);
	sbench_add(bench, 2);
	UNTIL(bench, a->taken == 2);
	finish_all(a);
	redis_just(bench->redis, "MULTI");
	redis_just(bench->redis, "DEL s");
	redis_just(bench->redis, "XADD s 99999999999999-1 n new");
	redis_just(bench->redis, "EXEC");
	UNTIL(bench, a->taken == 3);
	assert_string_equal(sbench_field(a->first, "n"), "new");
	finish_all(a);
	assert_int_equal(sbench_pending(bench, ""), 0);
	sbench_close(a);
}

static void
a_flushed_redis_is_read_on(void **state)
{
	struct sbench *bench = *state;
	struct sbench_finish *f = sbench_finish_new(bench);
	sbench_add(bench, 2);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 2);
	redis_just(bench->redis, "FLUSHALL");
	struct broker_message *m = sbench_shift(a);
	assert_int_equal(sbench_finish(a, f, m, &result), 0);
	assert_int_equal(f->finish.finished, BROKER_NOT_PENDING);
	broker_message_free(&m);
	find_all_gone(a);
	assert_int_equal(a->lost[BROKER_DELETED], 2);
	assert_int_equal(redis_integer(bench->redis, "EXISTS r"), 0);
	/* Ids may begin anew. */
	redis_just(bench->redis, "XADD s 1-1 n first");
	UNTIL(bench, a->taken == 3);
	assert_string_equal(sbench_field(a->first, "n"), "first");
	assert_int_equal(a->lost[BROKER_DELETED], 2);
	sbench_close(a);
}

static void
a_user_without_rights_is_told_so(void **state)
{
	struct sbench *bench = *state;
	redis_just(bench->redis, "ACL SETUSER default -xreadgroup");
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, strncmp(broker_reader_health(a->reader).message,
	    "NOPERM ", 7) == 0);
	sbench_add(bench, 1);
	redis_just(bench->redis, "ACL SETUSER default +xreadgroup");
	UNTIL(bench, a->taken == 1);
	sbench_close(a);
}

/* --- lag --- */

/* Its owner gives no credit while it is refused what it needs. */
static void
a_refusal_that_is_over_is_found_out_without_credit(void **state)
{
	struct sbench *bench = *state;
	for (unsigned i = 0; i < 2; i++) {
		bench->sole = i == 1;
		struct sbench_reader *a = sbench_open(bench, "a");
		UNTIL(bench, sbench_is_up(a));
		redis_just(bench->redis, "ACL SETUSER default -xreadgroup");
		redis_just(bench->redis, "XADD s * n 1");
		UNTIL(bench, !sbench_is_up(a));
		sbench_credit(a, 0);
		some_turns(bench);
		assert_false(sbench_is_up(a));
		redis_just(bench->redis, "ACL SETUSER default +@all");
		unsigned taken = a->taken;
		UNTIL(bench, sbench_is_up(a));
		some_turns(bench);
		assert_int_equal(a->taken, taken);
		sbench_credit(a, 64);
		UNTIL(bench, a->taken == i + 1 && lag(a) == 0);
		sbench_close(a);
	}
}

static void
the_lag_is_what_nobody_has_taken(void **state)
{
	struct sbench *bench = *state;
	sbench_add(bench, 12);
	bench->credit = 5;
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 5);
	UNTIL(bench, lag(a) == 7);
	finish_all(a);
	sbench_credit(a, 100);
	UNTIL(bench, a->taken == 12);
	UNTIL(bench, lag(a) == 0);
	sbench_close(a);
}

/* --- what no reply can hold --- */

static void
an_entry_beyond_all_replies_comes_as_too_large(void **state)
{
	struct sbench *bench = *state;
	enum { FIELDS = 270000 };
	size_t count = 3 + 2 * FIELDS;
	const char **args = mem_zero(count * sizeof *args);
	args[0] = "XADD", args[1] = "s", args[2] = "*";
	for (size_t i = 3; i < count; i++)
		args[i] = "x";
	sbench_add(bench, 1);
	freeReplyObject(redisCommandArgv(
	    bench->redis->client, (int)count, args, NULL));
	free(args);
	sbench_add(bench, 1);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 3);
	for (struct broker_message *m = a->first; m != NULL; m = m->next)
		assert_int_equal(m->too_large, m->fields.count == 0);
	finish_all(a);
	assert_int_equal(sbench_pending(bench, ""), 0);
	sbench_close(a);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown( \
	    name, sbench_set_up, sbench_tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(what_is_trimmed_unread_is_counted_once),
	    TEST(what_was_trimmed_while_nobody_read_is_counted),
	    TEST(what_is_deleted_unread_is_counted_once),
	    TEST(what_was_deleted_while_nobody_read_is_counted),
	    TEST(several_readers_count_a_loss_once),
	    TEST(a_loss_is_not_forgotten_with_a_connection),
	    TEST(what_is_trimmed_after_it_was_read_is_no_loss),
#define LASTING(name)                                                         \
	cmocka_unit_test_setup_teardown(                                      \
	    name, sbench_set_up_lasting, sbench_tear_down)
	    LASTING(what_was_read_before_a_restart_is_no_loss),
	    LASTING(what_is_trimmed_after_a_restart_is_counted_right),
	    TEST(a_pending_entry_whose_bytes_are_gone_is_lost),
	    TEST(the_same_of_a_reader_that_is_gone),
	    TEST(what_is_trimmed_while_it_is_in_hand_can_be_finished),
	    TEST(what_is_deleted_while_it_is_in_hand_can_be_finished),
	    TEST(what_was_deleted_before_it_is_given_back_is_lost),
	    TEST(a_consumer_that_was_deleted_has_lost_what_it_had),
	    TEST(a_stream_that_was_made_anew_is_read_from_its_first_entry),
	    TEST(a_flushed_redis_is_read_on),
	    TEST(a_user_without_rights_is_told_so),
	    TEST(a_refusal_that_is_over_is_found_out_without_credit),
	    TEST(the_lag_is_what_nobody_has_taken),
	    TEST(an_entry_beyond_all_replies_comes_as_too_large),
	};
	return cmocka_run_group_tests_name("streams_lost", tests, NULL, NULL);
}
