/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/loop/loop.h"
#include "base/loop/thread.h"
#include "messages/broker/kafka/kafka_ledger.h"
#include "messages/broker/kafka/kafka_thread.h"

/* A system that has no thread for us ends nobody: it is said, and tried on. */

static struct loop *loop;
static unsigned n_tried, n_said;

/* In place of the program's. */
bool
thread_begin(void *(*run)(void *arg), void *arg)
{
	(void)run;
	(void)arg;
	n_tried++;
	return false;
}

static void
stop_when_tried_again(void *arg)
{
	struct timer *timer = arg;
	if (n_tried < 2)
		timer_set(timer, 50);
	else
		loop_stop(loop);
}

static void
note_change(void *arg)
{
	(void)arg;
	n_said++;
}

static void
a_ledger_without_a_thread_is_down_and_tries_again(void **state)
{
	(void)state;
	static char name[] = "i";
	static const struct conf conf = {.instance = name};
	struct conf_broker broker = {.name = name};
	struct conf_relay relay = {
	    .name = name, .broker = &broker, .topic = name};
	struct relay_target_events events = {.changed = note_change};
	struct relay_target_start start = {.conf = &conf, .relay = &relay,
	    .store = "s", .term = 1, .shards = 1, .events = &events};
	struct timer timer;
	start.loop = loop = loop_new();
	n_tried = n_said = 0;
	struct relay_target *ledger = kafka_ledger_kind.open(&start);
	timer_init(&timer, loop, stop_when_tried_again, &timer);
	timer_set(&timer, 0);
	loop_run(loop);
	assert_false(ledger->up);
	assert_string_equal(ledger->message, "no thread can be made");
	assert_int_equal(n_said, 1);
	kafka_ledger_kind.close(ledger);
	assert_int_equal(kafka_thread_leaving(loop), 0);
	loop_free(&loop);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		a_ledger_without_a_thread_is_down_and_tries_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
