/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "lib/streams_bench.h"

/*
 * What stands in the dead letters' place: copies and marks, in the order in
 * which they were put, and whose they are.
 */

/* As a source puts it. */
static void
add_copy(struct sbench *bench, const char *source, const char *position,
    const char *store)
{
	redis_just(bench->redis,
	    "XADD d * n 1 onceproxy-source %s onceproxy-position %s "
	    "onceproxy-store %s",
	    source, position, store);
}

static struct broker_finish
mark_of(const char *position, const struct broker_put *put)
{
	return (struct broker_finish){
	    .position = span_str(position), .mark = true, .put = put};
}

static void
on_done(void *owner)
{
	*(bool *)owner = true;
}

static void
put_mark(struct sbench_reader *r, const char *position,
    const struct broker_put *put)
{
	bool done = false;
	struct broker_finish finish = mark_of(position, put);
	op_init(&finish.op, r->bench->loop, on_done, &done);
	broker_reader_finish(r->reader, &finish);
	UNTIL(r->bench, done);
	assert_int_equal(finish.op.error, 0);
	assert_int_equal(finish.finished, BROKER_FINISHED);
}

static void
read_page(struct sbench_reader *r, struct broker_copies *copies)
{
	bool done = false;
	op_init(&copies->op, r->bench->loop, on_done, &done);
	broker_reader_copies(r->reader, copies);
	UNTIL(r->bench, done);
	assert_int_equal(copies->op.error, 0);
}

/* --- whose they are --- */

static void
the_newest_copy_says_whose_they_are(void **state)
{
	struct sbench *bench = *state;
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, a->origins == 1);
	assert_string_equal(a->origin, "");
	sbench_close(a);
	add_copy(bench, "charges", "5-1", "aa");
	add_copy(bench, "charges", "5-2", "bb");
	add_copy(bench, "others", "5-3", "cc");
	sbench_add(bench, 1);
	struct sbench_reader *b = sbench_open(bench, "b");
	UNTIL(bench, b->origins == 1);
	assert_string_equal(b->origin, "bb");
	assert_int_equal(b->taken_before_origin, 0);
	UNTIL(bench, b->taken == 1);
	/* After each connection. */
	redis_just(bench->redis, "CLIENT KILL TYPE normal");
	UNTIL(bench, b->origins == 2);
	sbench_close(b);
}

static void
a_place_that_cannot_be_read_stands(void **state)
{
	struct sbench *bench = *state;
	sbench_add(bench, 1);
	redis_just(bench->redis, "ACL SETUSER default -xrevrange");
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, *broker_reader_health(a->reader).message != '\0');
	assert_int_equal(a->taken, 0);
	redis_just(bench->redis, "ACL SETUSER default +xrevrange");
	UNTIL(bench, a->taken == 1);
	assert_int_equal(a->origins, 1);
	sbench_close(a);
}

/* --- marks --- */

static void
a_mark_and_its_result_are_put_once(void **state)
{
	struct sbench *bench = *state;
	const struct broker_put put = {.place = BROKER_RESULTS,
	    .has_body = true, .body = SPAN("x")};
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, sbench_is_up(a));
	add_copy(bench, "charges", "5-1", "aa");
	put_mark(a, "5-1", &put);
	assert_int_equal(redis_integer(bench->redis, "XLEN r"), 1);
	assert_int_equal(redis_integer(bench->redis, "XLEN d"), 2);
	/* As where the reply was lost. */
	put_mark(a, "5-1", &put);
	assert_int_equal(redis_integer(bench->redis, "XLEN r"), 1);
	assert_int_equal(redis_integer(bench->redis, "XLEN d"), 2);
	/* It was dead once more since. */
	add_copy(bench, "charges", "5-1", "aa");
	put_mark(a, "5-1", NULL);
	assert_int_equal(redis_integer(bench->redis, "XLEN r"), 1);
	assert_int_equal(redis_integer(bench->redis, "XLEN d"), 4);
	sbench_close(a);
}

/* --- pages --- */

static void
copies_and_marks_come_in_pages_in_their_order(void **state)
{
	struct sbench *bench = *state;
	struct broker_copies copies = {.limit = 2};
	struct sbench_reader *a = sbench_open(bench, "a");
	UNTIL(bench, sbench_is_up(a));
	add_copy(bench, "charges", "5-1", "aa");
	add_copy(bench, "others", "5-9", "aa");
	add_copy(bench, "charges", "5-2", "aa");
	put_mark(a, "5-1", NULL);
	read_page(a, &copies);
	const struct broker_message *m = copies.messages;
	assert_string_equal(m->position.ptr, "5-1");
	assert_string_equal(sbench_field(m, "n"), "1");
	assert_string_equal(sbench_field(m, "onceproxy-store"), "aa");
	assert_string_equal(m->next->position.ptr, "5-2");
	assert_null(m->next->next);
	assert_string_not_equal(copies.next, "");
	broker_message_free(&copies.messages);
	snprintf(copies.after, sizeof copies.after, "%s", copies.next);
	read_page(a, &copies);
	m = copies.messages;
	assert_string_equal(m->position.ptr, "5-1");
	assert_string_equal(sbench_field(m, "onceproxy-done"), "5-1");
	assert_string_equal(sbench_field(m, "onceproxy-store"), "5e");
	assert_null(m->next);
	assert_string_equal(copies.next, "");
	broker_message_free(&copies.messages);
	sbench_close(a);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown( \
	    name, sbench_set_up, sbench_tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(the_newest_copy_says_whose_they_are),
	    TEST(a_place_that_cannot_be_read_stands),
	    TEST(a_mark_and_its_result_are_put_once),
	    TEST(copies_and_marks_come_in_pages_in_their_order),
	};
	return cmocka_run_group_tests_name(
	    "streams_copies", tests, NULL, NULL);
}
