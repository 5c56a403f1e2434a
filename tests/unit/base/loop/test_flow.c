/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/loop/flow.h"

struct fixture {
	struct loop *loop;
	struct budget budget;
	struct flow flow;
	unsigned reader_calls;
	unsigned writer_calls;
	char text[4 * FLOW_BYTES];
};

static void
on_reader(void *arg)
{
	((struct fixture *)arg)->reader_calls++;
}

static void
on_writer(void *arg)
{
	((struct fixture *)arg)->writer_calls++;
}

static int
reserve(struct flow *flow)
{
	return body_reserve(&flow->body, FLOW_LEAST_BYTES, BUDGET_COMMON);
}

static int
set_up(void **state)
{
	struct fixture *f = test_calloc(1, sizeof *f);
	f->loop = loop_new();
	f->budget.limit = 1 << 20;
	for (size_t i = 0; i < sizeof f->text; i++)
		f->text[i] = (char)('a' + i % 23);
	f->flow = (struct flow){.loop = f->loop, .body.budget = &f->budget};
	flow_by(&f->flow.writer, on_writer, f);
	flow_by(&f->flow.reader, on_reader, f);
	*state = f;
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *f = *state;
	flow_clear(&f->flow);
	assert_int_equal(f->budget.used, 0);
	loop_free(&f->loop);
	test_free(f);
	return 0;
}

static void
on_stop(void *loop)
{
	loop_stop(loop);
}

/* Runs what is ready. */
static void
turn(struct fixture *f)
{
	struct timer timer;
	timer_init(&timer, f->loop, on_stop, f->loop);
	timer_set(&timer, 0);
	loop_run(f->loop);
}

static void
put(struct fixture *f, size_t at, size_t len)
{
	assert_int_equal(flow_put(&f->flow, f->text + at, len), len);
}

static void
content_comes_out_as_it_went_in(void **state)
{
	struct fixture *f = *state;
	size_t in = 0, out = 0, n = 1;
	while (out < sizeof f->text) {
		/* Pieces of all sizes, all of them different. */
		size_t len = flow_room(&f->flow);
		n = n * 7 % 30011;
		len = len < n ? len : n;
		if (len > sizeof f->text - in)
			len = sizeof f->text - in;
		put(f, in, len);
		in += len;
		struct span bytes = flow_look(&f->flow);
		len = bytes.len - bytes.len / 3;
		assert_memory_equal(bytes.ptr, f->text + out, len);
		flow_take(&f->flow, len);
		out += len;
	}
	assert_int_equal(in, out);
	assert_true(f->budget.used <= FLOW_BYTES);
}

static void
a_writer_waits_for_room(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(reserve(&f->flow), 0);
	size_t room, in = 0;
	while ((room = flow_room(&f->flow)) > 0) {
		put(f, in, room);
		in += room;
	}
	assert_int_equal(in, FLOW_BYTES);
	flow_take(&f->flow, 1000);
	turn(f);
	assert_int_equal(f->writer_calls, 0); /* not for a few bytes */
	flow_take(&f->flow, FLOW_BYTES - 1000);
	assert_int_equal(f->writer_calls, 0); /* not from within */
	turn(f);
	assert_int_equal(f->writer_calls, 1);
	assert_int_equal(flow_room(&f->flow), FLOW_BYTES);
}

static void
a_reader_waits_for_bytes(void **state)
{
	struct fixture *f = *state;
	put(f, 0, 3);
	turn(f);
	assert_int_equal(f->reader_calls, 0); /* it has not looked yet */
	assert_int_equal(flow_look(&f->flow).len, 3);
	flow_take(&f->flow, 3);
	assert_int_equal(flow_look(&f->flow).len, 0);
	put(f, 3, 2);
	put(f, 5, 2);
	assert_int_equal(f->reader_calls, 0);
	turn(f);
	assert_int_equal(f->reader_calls, 1);
	assert_memory_equal(flow_look(&f->flow).ptr, f->text + 3, 4);
}

static void
the_end_comes_behind_the_bytes(void **state)
{
	struct fixture *f = *state;
	put(f, 0, 3);
	flow_end(&f->flow, E_CLOSED);
	turn(f);
	assert_int_equal(f->reader_calls, 1);
	assert_int_equal(flow_look(&f->flow).len, 3);
	flow_take(&f->flow, 3);
	assert_int_equal(flow_look(&f->flow).len, 0);
	assert_true(f->flow.ended);
	assert_int_equal(f->flow.error, E_CLOSED);
}

static void
a_writer_may_wait_for_its_reader(void **state)
{
	struct fixture *f = *state;
	assert_false(flow_is_wanted(&f->flow));
	flow_look(&f->flow);
	turn(f);
	assert_int_equal(f->writer_calls, 1);
	assert_true(flow_is_wanted(&f->flow));
}

static void
a_closed_flow_takes_all_and_keeps_nothing(void **state)
{
	struct fixture *f = *state;
	put(f, 0, FLOW_BYTES);
	assert_int_equal(flow_room(&f->flow), 0);
	flow_close(&f->flow);
	turn(f);
	assert_int_equal(f->writer_calls, 1);
	put(f, 0, FLOW_BYTES);
	put(f, 0, FLOW_BYTES);
	assert_int_equal(flow_look(&f->flow).len, 0);
	flow_end(&f->flow, 0);
	turn(f);
	assert_int_equal(f->reader_calls, 0);
}

static void
more_than_the_room_is_taken_as_far_as_memory_goes(void **state)
{
	struct fixture *f = *state;
	f->budget.limit = 2 * (FLOW_BYTES + FLOW_LEAST_BYTES);
	put(f, 0, FLOW_BYTES);
	put(f, FLOW_BYTES, FLOW_LEAST_BYTES);
	assert_int_equal(flow_put(&f->flow, f->text, 1), 0);
	assert_int_equal(flow_room(&f->flow), 0);
	size_t all = FLOW_BYTES + FLOW_LEAST_BYTES;
	assert_int_equal(flow_look(&f->flow).len, all);
	assert_memory_equal(flow_look(&f->flow).ptr, f->text, all);
}

static void
what_was_reserved_is_enough_to_go_on(void **state)
{
	struct fixture *f = *state;
	f->budget.limit = FLOW_LEAST_BYTES;
	assert_int_equal(reserve(&f->flow), 0);
	for (size_t at = 0; at < sizeof f->text;) {
		size_t room = flow_room(&f->flow);
		assert_int_equal(room, FLOW_LEAST_BYTES);
		put(f, at, room);
		assert_int_equal(flow_room(&f->flow), 0);
		assert_memory_equal(
		    flow_look(&f->flow).ptr, f->text + at, room);
		flow_take(&f->flow, room);
		at += room;
	}
	struct flow other = {.loop = f->loop, .body.budget = &f->budget};
	assert_int_equal(reserve(&other), E_NO_MEMORY);
	flow_clear(&other);
}

static void
those_that_grew_leave_memory_to_begin_with(void **state)
{
	struct fixture *f = *state;
	enum { COUNT = 16 };
	f->budget.limit = (size_t)2 * COUNT * FLOW_LEAST_BYTES;
	struct flow others[COUNT];
	for (size_t i = 0; i < COUNT; i++) {
		others[i] = (struct flow){
		    .loop = f->loop, .body.budget = &f->budget};
		assert_int_equal(reserve(&others[i]), 0);
		assert_int_equal(flow_put(&others[i], f->text, FLOW_BYTES),
		    i < COUNT / 4 ? FLOW_BYTES : FLOW_LEAST_BYTES);
	}
	for (size_t i = 0; i < COUNT; i++)
		flow_clear(&others[i]);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(content_comes_out_as_it_went_in),
	    TEST(a_writer_waits_for_room),
	    TEST(a_reader_waits_for_bytes),
	    TEST(the_end_comes_behind_the_bytes),
	    TEST(a_writer_may_wait_for_its_reader),
	    TEST(a_closed_flow_takes_all_and_keeps_nothing),
	    TEST(more_than_the_room_is_taken_as_far_as_memory_goes),
	    TEST(what_was_reserved_is_enough_to_go_on),
	    TEST(those_that_grew_leave_memory_to_begin_with),
	};
	return cmocka_run_group_tests_name("flow", tests, NULL, NULL);
}
