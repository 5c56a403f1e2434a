/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <semaphore.h>

#include "base/loop/loop.h"
#include "base/loop/thread.h"
#include "messages/broker/kafka/kafka_thread.h"

/* A thread that ends later than the loop whose it was, and earlier. */

static pthread_t thread;
static sem_t begun, ends;
static unsigned n_run, n_last, n_wanted, n_unwanted;

/* In place of the program's, so that its end can be waited for. */
bool
thread_begin(void *(*run)(void *arg), void *arg)
{
	return pthread_create(&thread, NULL, run, arg) == 0;
}

static void
run(struct kafka_job *job)
{
	(void)job;
	n_run++;
}

static void
run_long(struct kafka_job *job)
{
	run(job);
	sem_post(&begun);
	sem_wait(&ends);
}

static void
count(struct kafka_job *job, bool wanted)
{
	(void)job;
	n_wanted += wanted;
	n_unwanted += !wanted;
}

static void
last(void *arg)
{
	(void)arg;
	n_last++;
}

static void
what_was_done_before_the_end_is_not_wanted_after_it(void **state)
{
	(void)state;
	struct loop *loop = loop_new();
	struct kafka_thread *t = kafka_thread_new(loop);
	struct kafka_job done = {.run = run, .done = count},
			 underway = {.run = run_long, .done = count},
			 waiting = {.run = run, .done = count};
	assert_non_null(t);
	sem_init(&begun, 0, 0);
	sem_init(&ends, 0, 0);
	kafka_thread_add(t, &done);
	kafka_thread_add(t, &underway);
	kafka_thread_add(t, &waiting);
	sem_wait(&begun);
	/* Somebody else's are over: this one is not, and is ended next. */
	kafka_thread_abandon(loop);
	assert_int_equal(kafka_thread_leaving(loop), 0);
	kafka_thread_end(&t, last, NULL);
	assert_int_equal(kafka_thread_leaving(loop), 1);
	kafka_thread_abandon(loop);
	assert_int_equal(kafka_thread_leaving(loop), 0);
	sem_post(&ends);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(n_last, 1);
	assert_int_equal(n_unwanted, 2);
	/* The loop is told of the first one as late as this. */
	loop_free(&loop);
	assert_int_equal(n_run, 2);
	assert_int_equal(n_wanted, 0);
	assert_int_equal(n_unwanted, 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		what_was_done_before_the_end_is_not_wanted_after_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
