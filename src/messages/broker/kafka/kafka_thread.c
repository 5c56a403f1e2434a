/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/loop/thread.h"
#include "base/mem.h"
#include "base/must.h"
#include "messages/broker/kafka/kafka_thread.h"

enum { LEAVE_MS = 3000 };

struct kafka_thread {
	atomic_bool end;
	/* With the mutex: */
	struct list link;  /* of all that are not over */
	struct loop *loop; /* NULL: there is none any more */
	struct list jobs;
	struct list posted; /* jobs that were run, until done() */
	pthread_cond_t wake;
	int64_t ended_ms;
	void (*last)(void *arg); /* is done at the end */
	void *arg;
};

/* One for all: it is held for a moment, a few times in a second. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct list threads = {&threads, &threads};

/* --- in the thread --- */

/* The next job; NULL: it is to end, and those that wait are not run. */
static struct kafka_job *
wait_job(struct kafka_thread *t)
{
	pthread_mutex_lock(&mutex);
	while (list_empty(&t->jobs) && !atomic_load(&t->end))
		pthread_cond_wait(&t->wake, &mutex);
	struct kafka_job *job = LIST_FIRST(&t->jobs, struct kafka_job, link);
	if (atomic_load(&t->end))
		job = NULL;
	else
		list_remove(&job->link);
	pthread_mutex_unlock(&mutex);
	return job;
}

/* In the loop, which has the thread still where the job names it. */
static void
on_done(void *arg)
{
	struct kafka_job *job = arg;
	pthread_mutex_lock(&mutex);
	bool wanted = job->thread != NULL;
	if (wanted)
		list_remove(&job->link);
	pthread_mutex_unlock(&mutex);
	job->done(job, wanted);
}

static void
give_back(struct kafka_thread *t, struct kafka_job *job)
{
	pthread_mutex_lock(&mutex);
	bool posts = t->loop != NULL;
	if (atomic_load(&t->end))
		job->thread = NULL;
	else
		list_add_last(&t->posted, &job->link);
	if (posts)
		loop_post(t->loop, on_done, job);
	pthread_mutex_unlock(&mutex);
	if (!posts)
		job->done(job, false);
}

static void *
work(void *arg)
{
	struct kafka_thread *t = arg;
	struct kafka_job *job;
	while ((job = wait_job(t)) != NULL) {
		job->run(job);
		give_back(t, job);
	}
	/* Nobody adds any more. */
	LIST_EACH (job, &t->jobs, link)
		give_back(t, job);
	if (t->last != NULL)
		t->last(t->arg);
	arena_trim();
	pthread_mutex_lock(&mutex);
	list_remove(&t->link);
	pthread_mutex_unlock(&mutex);
	pthread_cond_destroy(&t->wake);
	free(t);
	return NULL;
}

/* --- for the loop --- */

struct kafka_thread *
kafka_thread_new(struct loop *loop)
{
	struct kafka_thread *t = mem_zero(sizeof *t);
	t->loop = loop;
	list_init(&t->jobs);
	list_init(&t->posted);
	must(pthread_cond_init(&t->wake, NULL) == 0);
	if (!thread_begin(work, t)) {
		pthread_cond_destroy(&t->wake);
		free(t);
		return NULL;
	}
	pthread_mutex_lock(&mutex);
	list_add_last(&threads, &t->link);
	pthread_mutex_unlock(&mutex);
	return t;
}

void
kafka_thread_add(struct kafka_thread *t, struct kafka_job *job)
{
	job->thread = t;
	pthread_mutex_lock(&mutex);
	list_add_last(&t->jobs, &job->link);
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&mutex);
}

bool
kafka_thread_ends(struct kafka_thread *t)
{
	return atomic_load(&t->end);
}

void
kafka_thread_end(
    struct kafka_thread **thread, void (*last)(void *arg), void *arg)
{
	struct kafka_thread *t = *thread;
	struct kafka_job *job;
	*thread = NULL;
	pthread_mutex_lock(&mutex);
	LIST_EACH (job, &t->posted, link) {
		list_remove(&job->link);
		job->thread = NULL;
	}
	t->ended_ms = loop_now_ms(t->loop);
	t->last = last;
	t->arg = arg;
	atomic_store(&t->end, true);
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&mutex);
}

size_t
kafka_thread_leaving(const struct loop *loop)
{
	struct kafka_thread *t;
	size_t count = 0;
	pthread_mutex_lock(&mutex);
	LIST_EACH (t, &threads, link)
		count += t->loop == loop && atomic_load(&t->end) &&
		    loop_now_ms(loop) - t->ended_ms < LEAVE_MS;
	pthread_mutex_unlock(&mutex);
	return count;
}

void
kafka_thread_abandon(const struct loop *loop)
{
	struct kafka_thread *t;
	pthread_mutex_lock(&mutex);
	LIST_EACH (t, &threads, link)
		if (t->loop == loop && atomic_load(&t->end))
			t->loop = NULL;
	pthread_mutex_unlock(&mutex);
}
