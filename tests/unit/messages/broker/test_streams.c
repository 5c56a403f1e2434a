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
 * A reader of a stream takes what is there and acknowledges what is finished.
 */

/* --- taking --- */

static void
entries_come_in_order_with_all_their_fields(void **state)
{
	struct sbench *bench = *state;
	redis_just(bench->redis, "XADD s 1700000000123-5 k v k w %b %b",
	    "\0n", (size_t)2, "\r\n\xff", (size_t)3);
	redis_just(bench->redis, "XADD s 1700000000123-6 body hello");
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 2);
	const struct broker_message *m = a->first;
	assert_string_equal(m->position.ptr, "1700000000123-5");
	assert_int_equal(m->time_ms, 1700000000123);
	assert_int_equal(m->fields.count, 3);
	assert_string_equal(m->fields.list[1].value.ptr, "w");
	assert_true(span_eq(m->fields.list[2].name, span_of("\0n", 2)));
	assert_true(span_eq(m->fields.list[2].value, SPAN("\r\n\xff")));
	assert_false(m->has_payload || m->again || m->too_large);
	assert_null(m->odd);
	assert_null(m->key.ptr);
	assert_string_equal(sbench_field(m->next, "body"), "hello");
	sbench_close(a);
}

/* An id that is no time says nothing about how old the entry is. */
static void
an_id_of_its_own_is_no_time(void **state)
{
	struct sbench *bench = *state;
	redis_just(bench->redis, "XADD s 7-1 n 1");
	redis_just(bench->redis,
	    "XADD s 18446744073709551615-18446744073709551615 n 2");
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 2);
	assert_int_equal(a->first->time_ms, -1);
	assert_int_equal(a->first->next->time_ms, -1);
	sbench_finish_first(a);
	assert_string_equal(a->first->position.ptr,
	    "18446744073709551615-18446744073709551615");
	sbench_finish_first(a);
	assert_int_equal(sbench_pending(bench, ""), 0);
	sbench_close(a);
}

static void
what_is_added_later_wakes_a_reader_that_blocks(void **state)
{
	struct sbench *bench = *state;
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, sbench_is_up(a));
	for (unsigned i = 1; i <= 5; i++) {
		int64_t began_us = clock_us();
		sbench_add(bench, 1);
		UNTIL(bench, a->taken == i);
		assert_true(clock_us() - began_us < 1000000);
	}
	sbench_close(a);
}

static void
no_more_is_taken_than_there_is_credit_for(void **state)
{
	struct sbench *bench = *state;
	bench->credit = 0;
	sbench_add(bench, 10);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, sbench_is_up(a));
	for (int i = 0; i < 20; i++)
		sbench_turn(bench);
	assert_int_equal(a->taken, 0);
	assert_int_equal(sbench_pending(bench, ""), 0);
	sbench_credit(a, 3);
	UNTIL(bench, a->taken == 3);
	for (int i = 0; i < 20; i++)
		sbench_turn(bench);
	assert_int_equal(a->taken, 3);
	assert_int_equal(sbench_pending(bench, ""), 3);
	sbench_credit(a, 100);
	UNTIL(bench, a->taken == 10);
	sbench_close(a);
}

static void
a_new_group_begins_where_the_source_says(void **state)
{
	struct sbench *bench = *state;
	sbench_add(bench, 3);
	bench->source.start_latest = true;
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, broker_reader_health(a->reader).lag == 0);
	redis_just(bench->redis, "XADD s * n new");
	UNTIL(bench, a->taken == 1);
	assert_string_equal(sbench_field(a->first, "n"), "new");
	sbench_close(a);
}

/* How many commands clients have sent, without those that scripts call. */
static long long
commands(struct sbench *bench)
{
	static const char *const names[] = {"cmdstat_time:calls=",
	    "cmdstat_eval:calls=", "cmdstat_evalsha:calls=",
	    "cmdstat_xread:calls="};
	redisReply *info = redis_do(bench->redis, "INFO commandstats");
	long long count = 0;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *at = strstr(info->str, names[i]);
		count += at != NULL ? atoll(at + strlen(names[i])) : 0;
	}
	freeReplyObject(info);
	return count;
}

static void
an_idle_source_costs_a_few_commands_a_second(void **state)
{
	struct sbench *bench = *state;
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, sbench_is_up(a) &&
	    broker_reader_health(a->reader).lag == 0);
	long long before = commands(bench);
	int64_t until_us = clock_us() + 6000000;
	while (clock_us() < until_us)
		sbench_turn(bench);
	long long after = commands(bench);
	assert_in_range(after - before, 12, 60);
	sbench_close(a);
}

/* --- finishing --- */

static struct broker_put
make_put(enum broker_place place, struct field *list, size_t count)
{
	return (struct broker_put){.place = place,
	    .fields = {list, count}, .has_body = true,
	    .body = SPAN("b\0dy")};
}

static void
a_put_and_its_acknowledgement_are_one_step(void **state)
{
	struct sbench *bench = *state;
	struct sbench_finish *f = sbench_finish_new(bench);
	struct field list[] = {{SPAN("onceproxy-status"), SPAN("201")},
	    {SPAN("x"), SPAN("")}};
	struct broker_put result = make_put(BROKER_RESULTS, list, 2);
	struct broker_put dead = make_put(BROKER_DEAD_LETTERS, list, 1);
	sbench_add(bench, 2);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 2);
	assert_int_equal(sbench_finish(a, f, a->first, &result), 0);
	assert_int_equal(f->finish.finished, BROKER_FINISHED);
	assert_int_equal(sbench_finish(a, f, a->first->next, &dead), 0);
	assert_int_equal(f->finish.finished, BROKER_FINISHED);
	assert_int_equal(sbench_pending(bench, ""), 0);
	redisReply *all = redis_do(bench->redis, "XRANGE r - +");
	assert_int_equal(all->elements, 1);
	const redisReply *values = all->element[0]->element[1];
	assert_int_equal(values->elements, 6);
	assert_string_equal(values->element[0]->str, "onceproxy-status");
	assert_string_equal(values->element[4]->str, "body");
	assert_int_equal(values->element[5]->len, 4);
	assert_memory_equal(values->element[5]->str, "b\0dy", 4);
	freeReplyObject(all);
	assert_int_equal(redis_integer(bench->redis, "XLEN d"), 1);
	/* A second time finds it done. */
	assert_int_equal(sbench_finish(a, f, a->first, &result), 0);
	assert_int_equal(f->finish.finished, BROKER_NOT_PENDING);
	assert_int_equal(redis_integer(bench->redis, "XLEN r"), 1);
	sbench_close(a);
}

static void
a_put_goes_on_where_redis_has_forgotten_its_scripts(void **state)
{
	struct sbench *bench = *state;
	struct sbench_finish *f = sbench_finish_new(bench);
	struct broker_put put = make_put(BROKER_RESULTS, NULL, 0);
	sbench_add(bench, 2);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 2);
	assert_int_equal(sbench_finish(a, f, a->first, &put), 0);
	redis_just(bench->redis, "SCRIPT FLUSH");
	assert_int_equal(sbench_finish(a, f, a->first->next, &put), 0);
	assert_int_equal(f->finish.finished, BROKER_FINISHED);
	assert_int_equal(redis_integer(bench->redis, "XLEN r"), 2);
	sbench_close(a);
}

static void
what_redis_refuses_is_refused_in_its_words(void **state)
{
	struct sbench *bench = *state;
	struct sbench_finish *f = sbench_finish_new(bench);
	struct broker_put put = make_put(BROKER_RESULTS, NULL, 0);
	sbench_add(bench, 1);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 1);
	redis_just(bench->redis, "SET r text");
	assert_int_equal(
	    sbench_finish(a, f, a->first, &put), E_BROKER_REFUSED);
	assert_memory_equal(f->finish.refused, "WRONGTYPE ", 10);
	redis_just(bench->redis, "DEL r");
	redis_just(bench->redis, "CONFIG SET maxmemory 1");
	assert_int_equal(
	    sbench_finish(a, f, a->first, &put), E_BROKER_REFUSED);
	assert_memory_equal(f->finish.refused, "OOM ", 4);
	redis_just(bench->redis, "CONFIG SET maxmemory 0");
	redis_just(bench->redis, "ACL SETUSER default -xack");
	assert_int_equal(
	    sbench_finish(a, f, a->first, &put), E_BROKER_REFUSED);
	assert_memory_equal(f->finish.refused, "NOPERM ", 7);
	assert_int_equal(
	    sbench_finish(a, f, a->first, NULL), E_BROKER_REFUSED);
	redis_just(bench->redis, "ACL SETUSER default +xack");
	assert_int_equal(redis_integer(bench->redis, "XLEN r"), 0);
	assert_int_equal(sbench_pending(bench, "a"), 1);
	assert_int_equal(sbench_finish(a, f, a->first, &put), 0);
	assert_int_equal(f->finish.finished, BROKER_FINISHED);
	assert_int_equal(redis_integer(bench->redis, "XLEN r"), 1);
	sbench_close(a);
}

static void
what_was_sent_is_done_though_it_is_given_up(void **state)
{
	struct sbench *bench = *state;
	struct sbench_finish *f = sbench_finish_new(bench);
	sbench_add(bench, 2);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 2);
	redis_freeze(bench->redis);
	sbench_finish_start(a, f, a->first, NULL);
	sbench_turn(bench);
	op_cancel(&f->finish.op);
	redis_thaw(bench->redis);
	UNTIL(bench, sbench_pending(bench, "") == 1);
	assert_false(f->woken);
	/* One that was not sent is not. */
	sbench_finish_start(a, f, a->first->next, NULL);
	sbench_close(a);
	UNTIL(bench, f->woken);
	assert_int_equal(f->finish.op.error, E_CANCELLED);
	assert_int_equal(sbench_pending(bench, ""), 1);
}

/* --- limits --- */

static void
what_is_too_large_comes_without_its_bulk(void **state)
{
	struct sbench *bench = *state;
	size_t len = bench->most_bytes - 4;
	char *big = mem_zero(len + 1);
	memset(big, 'x', len + 1);
	redis_just(bench->redis, "XADD s * body %b", big, len);
	redis_just(bench->redis, "XADD s * body %b id 7", big, len);
	redis_just(bench->redis, "XADD s * body %b", big, len + 1);
	redis_just(bench->redis, "XADD s * body small");
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 4);
	struct broker_message *m = a->first;
	assert_false(m->too_large);
	assert_int_equal(m->fields.list[0].value.len, len);
	assert_true(m->bytes > len);
	m = m->next;
	assert_true(m->too_large);
	assert_true(m->bytes < 100000);
	assert_string_equal(sbench_field(m, "id"), "7");
	m = m->next;
	assert_true(m->too_large);
	assert_int_equal(m->fields.count, 0);
	assert_false(m->next->too_large);
	while (a->first != NULL)
		sbench_finish_first(a);
	free(big);
	sbench_close(a);
}

static void
more_fields_than_a_put_can_have_are_too_large(void **state)
{
	struct sbench *bench = *state;
	redis_just(bench->redis, "EVAL %s 1 s",
	    "local a = {} for i = 1, 4000 do a[i] = i end "
	    "return redis.call('XADD', KEYS[1], '*', unpack(a))");
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 1);
	assert_true(a->first->too_large);
	struct broker_put put = {
	    .place = BROKER_DEAD_LETTERS, .fields = a->first->fields};
	struct sbench_finish *f = sbench_finish_new(bench);
	assert_int_equal(sbench_finish(a, f, a->first, &put), 0);
	assert_int_equal(redis_integer(bench->redis, "XLEN d"), 1);
	sbench_close(a);
}

/* --- closing --- */

/* The list of src/messages/broker/streams/streams.h. */
static void
no_more_rights_are_needed_than_the_manual_says(void **state)
{
	static char user[] = "gateway", password[] = "secret";
	struct sbench *bench = *state;
	struct sbench_finish *f = sbench_finish_new(bench);
	struct broker_put put = make_put(BROKER_RESULTS, NULL, 0);
	redis_just(bench->redis, "ACL SETUSER gateway on >secret ~s ~r ~d "
		"+client|setname +eval +evalsha "
		"+ping +time +xack +xadd +xclaim +xgroup|create "
		"+xgroup|setid +xinfo|consumers +xinfo|groups +xinfo|stream "
		"+xpending +xrange +xread +xreadgroup +xrevrange");
	bench->broker.redis.user = user;
	bench->broker.redis.password = password;
	bench->lease_ms = 300;
	for (int sole = 0; sole < 2; sole++) {
		bench->sole = sole == 1;
		struct sbench_reader *a = sbench_open(bench, "a");
		UNTIL(bench, sbench_is_up(a));
		sbench_add(bench, 4);
		UNTIL(bench, a->taken == 4);
		redis_just(bench->redis, "XTRIM s MAXLEN 0");
		sbench_add(bench, 1);
		UNTIL(bench, a->taken == 5);
		int64_t until_us = clock_us() + 400000;
		UNTIL(bench, clock_us() > until_us);
		assert_string_equal(
		    broker_reader_health(a->reader).message, "");
		assert_int_equal(sbench_finish(a, f, a->first, &put), 0);
		assert_int_equal(f->finish.finished, BROKER_FINISHED);
		redis_just(bench->redis, "XACK s g %s",
		    a->first->next->position.ptr);
		assert_int_equal(
		    sbench_finish(a, f, a->first->next, NULL), 0);
		sbench_close(a);
		redis_just(bench->redis, "DEL s r");
	}
	redisReply *log = redis_do(bench->redis, "ACL LOG");
	assert_int_equal(log->elements, 0);
	freeReplyObject(log);
}

static void
a_drain_may_leave_at_once(void **state)
{
	struct sbench *bench = *state;
	sbench_add(bench, 3);
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 3);
	broker_reader_close(&a->reader);
	assert_int_equal(reader_leaving(bench->loop), 1);
	reader_abandon(bench->loop);
	assert_int_equal(reader_leaving(bench->loop), 0);
	sbench_turn(bench);
	assert_int_equal(sbench_pending(bench, "a"), 3);
}

static void
what_is_closed_is_given_back_at_once(void **state)
{
	struct sbench *bench = *state;
	sbench_add(bench, 150);
	bench->credit = 120;
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 120);
	sbench_close(a);
	bench->lease_ms = 2000;
	bench->credit = 200;
	int64_t began_us = clock_us();
	struct sbench_reader *b = sbench_open(bench, "b");
	UNTIL(bench, b->taken == 150);
	assert_true(clock_us() - began_us < 3900000);
	sbench_close(b);
}

static void
a_reader_may_be_closed_as_it_hands_over(void **state)
{
	struct sbench *bench = *state;
	sbench_add(bench, 10);
	bench->lease_ms = 1000;
	struct sbench_reader *a = sbench_open(bench, "a");
	a->closes = true;
	UNTIL(bench, a->taken == 1);
	UNTIL(bench, reader_leaving(bench->loop) == 0);
	assert_int_equal(a->taken, 1);
	sbench_forget(a);
	struct sbench_reader *b = sbench_open(bench, "b");
	UNTIL(bench, b->taken == 10);
	sbench_close(b);
}

/* Nothing is taken for a reader that is gone. */
static void
a_reader_that_blocks_closes_soon(void **state)
{
	struct sbench *bench = *state;
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, broker_reader_health(a->reader).lag == 0);
	int64_t began_us = clock_us();
	sbench_close(a);
	assert_true(clock_us() - began_us < 1000000);
	sbench_add(bench, 1);
	assert_int_equal(sbench_pending(bench, ""), 0);
}

static void
a_reader_closes_though_redis_is_silent(void **state)
{
	struct sbench *bench = *state;
	sbench_add(bench, 1);
	bench->broker.redis.timeout_ms = 300;
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 1);
	redis_freeze(bench->redis);
	int64_t began_us = clock_us();
	sbench_close(a);
	assert_true(clock_us() - began_us < 3000000);
	redis_thaw(bench->redis);
}

static void
what_is_given_back_may_come_again(void **state)
{
	struct sbench *bench = *state;
	sbench_add(bench, 2);
	bench->lease_ms = 1000;
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 2);
	struct broker_message *m = sbench_shift(a);
	broker_reader_give_back(a->reader, m);
	UNTIL(bench, a->taken == 3);
	assert_string_equal(m->position.ptr, a->first->next->position.ptr);
	assert_true(a->first->next->again);
	broker_message_free(&m);
	sbench_close(a);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown( \
	    name, sbench_set_up, sbench_tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(entries_come_in_order_with_all_their_fields),
	    TEST(an_id_of_its_own_is_no_time),
	    TEST(what_is_added_later_wakes_a_reader_that_blocks),
	    TEST(no_more_is_taken_than_there_is_credit_for),
	    TEST(a_new_group_begins_where_the_source_says),
	    TEST(an_idle_source_costs_a_few_commands_a_second),
	    TEST(a_put_and_its_acknowledgement_are_one_step),
	    TEST(a_put_goes_on_where_redis_has_forgotten_its_scripts),
	    TEST(what_redis_refuses_is_refused_in_its_words),
	    TEST(what_was_sent_is_done_though_it_is_given_up),
	    TEST(what_is_too_large_comes_without_its_bulk),
	    TEST(more_fields_than_a_put_can_have_are_too_large),
	    TEST(no_more_rights_are_needed_than_the_manual_says),
	    TEST(a_drain_may_leave_at_once),
	    TEST(what_is_closed_is_given_back_at_once),
	    TEST(a_reader_may_be_closed_as_it_hands_over),
	    TEST(a_reader_that_blocks_closes_soon),
	    TEST(a_reader_closes_though_redis_is_silent),
	    TEST(what_is_given_back_may_come_again),
	};
	return cmocka_run_group_tests_name("streams", tests, NULL, NULL);
}
