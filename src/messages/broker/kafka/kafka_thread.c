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
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	/* With the mutex: */
	struct list jobs;
	struct kafka_job *last; /* is run at the end */
	bool orphan;            /* there is no loop any more */
	unsigned refs; /* the thread's, the loop's, and of what was posted */

	atomic_bool end;
	struct loop *loop;
	/* The loop's: */
	struct kafka_thread *next; /* of those that end */
	int64_t ended_ms;
};

static _Thread_local struct kafka_thread *ending;

static void
unref(struct kafka_thread *t)
{
	pthread_mutex_lock(&t->mutex);
	bool last = --t->refs == 0;
	pthread_mutex_unlock(&t->mutex);
	if (!last)
		return;
	pthread_cond_destroy(&t->wake);
	pthread_mutex_destroy(&t->mutex);
	free(t);
}

/* --- in the loop --- */

static void
on_done(void *arg)
{
	struct kafka_job *job = arg;
	struct kafka_thread *t = job->thread;
	job->done(job, !atomic_load(&t->end));
	unref(t);
}

static void
on_over(void *arg)
{
	struct kafka_thread *t = arg, **at = &ending;
	while (*at != NULL && *at != t)
		at = &(*at)->next;
	/* Else it was abandoned since this was posted. */
	if (*at == t) {
		*at = t->next;
		unref(t);
	}
	unref(t);
}

/* --- in the thread --- */

/* False: there is no loop any more that would call it. */
static bool
post(struct kafka_thread *t, void (*call)(void *arg), void *arg)
{
	pthread_mutex_lock(&t->mutex);
	bool posts = !t->orphan;
	if (posts) {
		t->refs++;
		loop_post(t->loop, call, arg);
	}
	pthread_mutex_unlock(&t->mutex);
	return posts;
}

/* The next job; NULL: it is to end, and those that wait are not run. */
static struct kafka_job *
wait_job(struct kafka_thread *t)
{
	pthread_mutex_lock(&t->mutex);
	while (list_empty(&t->jobs) && !atomic_load(&t->end))
		pthread_cond_wait(&t->wake, &t->mutex);
	struct kafka_job *job = LIST_FIRST(&t->jobs, struct kafka_job, link);
	if (atomic_load(&t->end))
		job = NULL;
	else
		list_remove(&job->link);
	pthread_mutex_unlock(&t->mutex);
	return job;
}

static void
give_back(struct kafka_thread *t, struct kafka_job *job)
{
	if (!post(t, on_done, job))
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
	if (t->last != NULL) {
		t->last->run(t->last);
		give_back(t, t->last);
	}
	arena_trim();
	(void)post(t, on_over, t);
	unref(t);
	return NULL;
}

/* --- for the loop --- */

struct kafka_thread *
kafka_thread_new(struct loop *loop)
{
	struct kafka_thread *t = mem_zero(sizeof *t);
	t->loop = loop;
	t->refs = 2;
	list_init(&t->jobs);
	must(pthread_mutex_init(&t->mutex, NULL) == 0);
	must(pthread_cond_init(&t->wake, NULL) == 0);
	if (thread_begin(work, t))
		return t;
	t->refs = 1;
	unref(t);
	return NULL;
}

void
kafka_thread_add(struct kafka_thread *t, struct kafka_job *job)
{
	job->thread = t;
	pthread_mutex_lock(&t->mutex);
	list_add_last(&t->jobs, &job->link);
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->mutex);
}

bool
kafka_thread_ends(struct kafka_thread *t)
{
	return atomic_load(&t->end);
}

void
kafka_thread_end(struct kafka_thread **thread, struct kafka_job *last)
{
	struct kafka_thread *t = *thread;
	*thread = NULL;
	t->next = ending;
	ending = t;
	t->ended_ms = loop_now_ms(t->loop);
	if (last != NULL)
		last->thread = t;
	pthread_mutex_lock(&t->mutex);
	t->last = last;
	atomic_store(&t->end, true);
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->mutex);
}

size_t
kafka_thread_leaving(const struct loop *loop)
{
	size_t count = 0;
	for (struct kafka_thread *t = ending; t != NULL; t = t->next)
		count += t->loop == loop &&
		    loop_now_ms(loop) - t->ended_ms < LEAVE_MS;
	return count;
}

void
kafka_thread_abandon(const struct loop *loop)
{
	struct kafka_thread **at = &ending;
	while (*at != NULL) {
		struct kafka_thread *t = *at;
		if (t->loop != loop) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		pthread_mutex_lock(&t->mutex);
		t->orphan = true;
		pthread_mutex_unlock(&t->mutex);
		unref(t);
	}
}
