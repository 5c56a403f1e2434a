/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/loop/loop.h"
#include "base/loop/op.h"
#include "lib/stage.h"

struct trace {
	struct loop *loop;
	char text[128];
	struct task first, second, third;
	struct timer early, late, stop;
	struct hook hook;
	struct op op;
	int detached;
	struct watch *watch;
	int fds[2], other_fds[2];
	bool has_written;
	int destroyed;
};

static int
set_up(void **state)
{
	struct trace *t = calloc(1, sizeof *t);
	t->loop = loop_new();
	*state = t;
	return 0;
}

static int
tear_down(void **state)
{
	struct trace *t = *state;
	loop_free(&t->loop);
	free(t);
	return 0;
}

static struct trace *
say(void *arg, const char *word)
{
	struct trace *t = arg;
	strcat(t->text, word);
	return t;
}

static void
say_a(void *arg)
{
	say(arg, "a");
}

static void
say_b(void *arg)
{
	say(arg, "b");
}

static void
stop(void *arg)
{
	loop_stop(say(arg, ".")->loop);
}

static void
tasks_run_in_order_and_once(void **state)
{
	struct trace *t = *state;
	t->first = (struct task){.run = say_a, .arg = t};
	t->second = (struct task){.run = say_b, .arg = t};
	t->third = (struct task){.run = stop, .arg = t};
	task_ready(t->loop, &t->first);
	task_ready(t->loop, &t->second);
	task_ready(t->loop, &t->first);
	task_ready(t->loop, &t->third);
	loop_run(t->loop);
	assert_string_equal(t->text, "ab.");
}

static void
a_cancelled_task_leaves_the_list_whole(void **state)
{
	struct trace *t = *state;
	t->first = (struct task){.run = say_a, .arg = t};
	t->second = (struct task){.run = say_b, .arg = t};
	t->third = (struct task){.run = stop, .arg = t};
	task_ready(t->loop, &t->first);
	task_ready(t->loop, &t->second);
	task_cancel(&t->second); /* the last one */
	task_ready(t->loop, &t->third);
	task_cancel(&t->first); /* the first one */
	task_ready(t->loop, &t->first);
	loop_run(t->loop);
	assert_string_equal(t->text, ".a");
}

static void
timers_fire_in_the_order_of_their_times(void **state)
{
	struct trace *t = *state;
	timer_init(&t->late, t->loop, say_b, t);
	timer_init(&t->early, t->loop, say_a, t);
	timer_init(&t->stop, t->loop, stop, t);
	timer_set(&t->stop, 40);
	timer_set(&t->late, 20);
	timer_set(&t->early, 1);
	loop_run(t->loop);
	assert_string_equal(t->text, "ab.");
	assert_false(timer_is_set(&t->early));
}

static void
a_cleared_timer_does_not_fire(void **state)
{
	struct trace *t = *state;
	timer_init(&t->early, t->loop, say_a, t);
	timer_init(&t->stop, t->loop, stop, t);
	timer_set(&t->early, 1);
	timer_set(&t->stop, 10);
	timer_clear(&t->early);
	loop_run(t->loop);
	assert_string_equal(t->text, ".");
}

/* Thousands of timers, set, moved and cleared at random, stay in order. */
static int64_t fired_ms;
static unsigned fired;

static void
check_order(void *arg)
{
	struct timer *timer = arg;
	assert_true(timer->at_ms >= fired_ms);
	fired_ms = timer->at_ms;
	fired++;
}

static void
many_timers_stay_in_order(void **state)
{
	struct trace *t = *state;
	enum { N = 3000 };
	struct timer *timers = calloc(N, sizeof *timers);
	unsigned set = 0;
	srand(1);
	fired = 0;
	fired_ms = 0;
	for (int i = 0; i < N; i++) {
		timer_init(&timers[i], t->loop, check_order, &timers[i]);
		timer_set(&timers[i], 1 + rand() % 20);
	}
	for (int i = 0; i < N; i++) {
		struct timer *timer = &timers[rand() % N];
		if (rand() % 2)
			timer_clear(timer);
		else
			timer_set(timer, 1 + rand() % 20);
	}
	for (int i = 0; i < N; i++)
		set += timer_is_set(&timers[i]);
	timer_init(&t->stop, t->loop, stop, t);
	timer_set(&t->stop, 30);
	loop_run(t->loop);
	assert_int_equal(fired, set);
	free(timers);
}

static void
on_readable(void *arg, unsigned events)
{
	struct trace *t = arg;
	char c;
	assert_int_equal(events, WATCH_READ);
	assert_int_equal(read(t->fds[0], &c, 1), 1);
	stop(t);
}

static void
a_watch_tells_that_a_descriptor_can_be_read(void **state)
{
	struct trace *t = *state;
	assert_int_equal(pipe(t->fds), 0);
	t->watch = watch_new(t->loop, t->fds[0], WATCH_READ, on_readable, t);
	assert_int_equal(write(t->fds[1], "x", 1), 1);
	loop_run(t->loop);
	assert_string_equal(t->text, ".");
	watch_free(&t->watch);
	assert_null(t->watch);
	close(t->fds[0]);
	close(t->fds[1]);
}

static void
on_byte(void *arg, unsigned events)
{
	struct trace *t = say(arg, "r");
	char c;
	(void)events;
	assert_int_equal(read(t->fds[0], &c, 1), 1);
	task_ready(t->loop, &t->first);
}

/* The process is stopped; meanwhile a byte comes, and a timer becomes due. */
static void
be_stopped(void *arg)
{
	struct trace *t = arg;
	assert_int_equal(write(t->fds[1], "x", 1), 1);
	stage_pass(1000);
}

static void
what_has_come_is_worked_on_before_a_timer_fires(void **state)
{
	struct trace *t = *state;
	assert_int_equal(pipe(t->fds), 0);
	t->watch = watch_new(t->loop, t->fds[0], WATCH_READ, on_byte, t);
	timer_init(&t->stop, t->loop, stop, t);
	timer_set(&t->stop, 500);
	t->first = (struct task){.run = say_a, .arg = t};
	t->second = (struct task){.run = be_stopped, .arg = t};
	task_ready(t->loop, &t->second);
	loop_run(t->loop);
	watch_free(&t->watch);
	close(t->fds[0]);
	close(t->fds[1]);
	assert_string_equal(t->text, "ra.");
}

static void
on_other_byte(void *arg, unsigned events)
{
	struct trace *t = arg;
	char c;
	(void)events;
	assert_int_equal(read(t->other_fds[0], &c, 1), 1);
	be_stopped(t);
}

/* In the turn that ends with a poll, since a timer is due: see on_alarm. */
static bool
have_another_byte(void *arg)
{
	struct trace *t = arg;
	if (t->early.position == 0 || loop_now_ms(t->loop) < t->early.at_ms ||
	    t->has_written)
		return false;
	t->has_written = true;
	assert_int_equal(write(t->other_fds[1], "x", 1), 1);
	return false;
}

/* The stop falls between that poll and the end of its turn. */
static void
what_came_after_that_poll_is_read_before_a_timer_fires(void **state)
{
	struct trace *t = *state;
	assert_int_equal(pipe(t->fds), 0);
	assert_int_equal(pipe(t->other_fds), 0);
	t->watch = watch_new(t->loop, t->fds[0], WATCH_READ, on_byte, t);
	struct watch *other =
	    watch_new(t->loop, t->other_fds[0], WATCH_READ, on_other_byte, t);
	timer_init(&t->early, t->loop, say_b, t);
	timer_set(&t->early, 5);
	timer_init(&t->stop, t->loop, stop, t);
	timer_set(&t->stop, 500);
	t->first = (struct task){.run = say_a, .arg = t};
	loop_hook(t->loop, HOOK_WORK, &t->hook, have_another_byte, t);
	loop_run(t->loop);
	loop_unhook(&t->hook);
	watch_free(&t->watch);
	watch_free(&other);
	for (int i = 0; i < 2; i++) {
		close(t->fds[i]);
		close(t->other_fds[i]);
	}
	assert_string_equal(t->text, "bra.");
}

static bool
work_three_times(void *arg)
{
	struct trace *t = say(arg, "w");
	if (strlen(t->text) < 3)
		return true;
	if (strlen(t->text) == 3)
		stop(t);
	return false;
}

static void
a_hook_runs_again_while_it_has_more_to_do(void **state)
{
	struct trace *t = *state;
	loop_hook(t->loop, HOOK_WORK, &t->hook, work_three_times, t);
	loop_run(t->loop);
	assert_string_equal(t->text, "www.");
	loop_unhook(&t->hook);
}

/* As what is tried for ever and fails at once. */
static void
come_again(void *arg)
{
	struct trace *t = arg;
	task_ready(t->loop, &t->first);
}

static void
give_up(void *arg)
{
	struct trace *t = arg;
	task_cancel(&t->first);
	stop(t);
}

static void
tasks_without_end_hold_up_no_timer(void **state)
{
	struct trace *t = *state;
	t->first = (struct task){.run = come_again, .arg = t};
	task_ready(t->loop, &t->first);
	timer_init(&t->stop, t->loop, give_up, t);
	timer_set(&t->stop, 10);
	loop_run(t->loop);
	assert_string_equal(t->text, ".");
}

static void *
post_from_a_thread(void *arg)
{
	struct trace *t = arg;
	loop_post(t->loop, say_a, t);
	loop_post(t->loop, say_b, t);
	loop_post(t->loop, stop, t);
	return NULL;
}

static void
messages_of_other_threads_arrive_in_order(void **state)
{
	struct trace *t = *state;
	pthread_t thread;
	assert_int_equal(
	    pthread_create(&thread, NULL, post_from_a_thread, t), 0);
	loop_run(t->loop);
	pthread_join(thread, NULL);
	assert_string_equal(t->text, "ab.");
}

static void
destroy(void *ptr)
{
	struct trace *t = ptr;
	t->destroyed++;
	loop_stop(t->loop);
}

static void
rest_a_turn(void *arg)
{
	struct trace *t = arg;
	task_rest(t->loop, t, destroy);
	assert_int_equal(t->destroyed, 0);
}

static void
what_rests_is_destroyed_without_another_event(void **state)
{
	struct trace *t = *state;
	t->first = (struct task){.run = rest_a_turn, .arg = t};
	task_ready(t->loop, &t->first);
	loop_run(t->loop);
	assert_int_equal(t->destroyed, 1);
}

/* --- operations --- */

static void
woken(void *arg)
{
	struct trace *t = arg;
	assert_int_equal(t->op.state, OP_DONE);
	say(t, t->op.error == 0 ? "ok" : error_message(t->op.error));
	loop_stop(t->loop);
}

static void
detach(struct op *op, int error)
{
	struct trace *t = op->task.arg;
	t->detached = error;
}

static void
an_operation_never_wakes_its_owner_from_within(void **state)
{
	struct trace *t = *state;
	op_init(&t->op, t->loop, woken, t);
	op_start(&t->op, 1000, detach);
	assert_true(t->op.state == OP_PENDING);
	op_done(&t->op, 0);
	assert_string_equal(t->text, "");
	loop_run(t->loop);
	assert_string_equal(t->text, "ok");
	assert_int_equal(t->detached, 0);
}

static void
a_deadline_detaches_and_ends_the_operation(void **state)
{
	struct trace *t = *state;
	op_init(&t->op, t->loop, woken, t);
	op_start(&t->op, 5, detach);
	loop_run(t->loop);
	assert_int_equal(t->detached, E_TIMEOUT);
	assert_int_equal(t->op.error, E_TIMEOUT);
	assert_true(t->op.took_us >= 4000);
}

static void
nothing_has_to_let_go_of_an_operation(void **state)
{
	struct trace *t = *state;
	op_init(&t->op, t->loop, woken, t);
	op_start(&t->op, 1000, NULL);
	op_cancel(&t->op);
	op_start(&t->op, 5, NULL);
	loop_run(t->loop);
	assert_int_equal(t->op.error, E_TIMEOUT);
}

static void
start_after_a_stop(void *arg)
{
	struct trace *t = arg;
	stage_pass(1000);
	op_start(&t->op, 500, detach);
}

static void
end_operation(void *arg)
{
	struct trace *t = arg;
	op_done(&t->op, 0);
}

static void
a_deadline_begins_when_its_operation_does(void **state)
{
	struct trace *t = *state;
	op_init(&t->op, t->loop, woken, t);
	t->first = (struct task){.run = start_after_a_stop, .arg = t};
	task_ready(t->loop, &t->first);
	timer_init(&t->early, t->loop, end_operation, t);
	timer_set(&t->early, 1100);
	loop_run(t->loop);
	assert_string_equal(t->text, "ok");
}

static void
a_cancelled_operation_does_not_wake(void **state)
{
	struct trace *t = *state;
	op_init(&t->op, t->loop, woken, t);
	op_start(&t->op, 5, detach);
	op_cancel(&t->op);
	assert_int_equal(t->detached, E_CANCELLED);
	op_start(&t->op, 5, detach);
	op_done(&t->op, 0);
	op_cancel(&t->op); /* done, but not woken yet */
	timer_init(&t->stop, t->loop, stop, t);
	timer_set(&t->stop, 10);
	loop_run(t->loop);
	assert_string_equal(t->text, ".");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(tasks_run_in_order_and_once),
	    TEST(a_cancelled_task_leaves_the_list_whole),
	    TEST(timers_fire_in_the_order_of_their_times),
	    TEST(a_cleared_timer_does_not_fire),
	    TEST(many_timers_stay_in_order),
	    TEST(a_watch_tells_that_a_descriptor_can_be_read),
	    TEST(what_has_come_is_worked_on_before_a_timer_fires),
	    TEST(what_came_after_that_poll_is_read_before_a_timer_fires),
	    TEST(a_hook_runs_again_while_it_has_more_to_do),
	    TEST(tasks_without_end_hold_up_no_timer),
	    TEST(messages_of_other_threads_arrive_in_order),
	    TEST(what_rests_is_destroyed_without_another_event),
	    TEST(an_operation_never_wakes_its_owner_from_within),
	    TEST(a_deadline_detaches_and_ends_the_operation),
	    TEST(nothing_has_to_let_go_of_an_operation),
	    TEST(a_deadline_begins_when_its_operation_does),
	    TEST(a_cancelled_operation_does_not_wake),
	};
	return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
