/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/digits.h"
#include "base/loop/thread.h"
#include "base/mem.h"
#include "base/must.h"
#include "messages/broker/kafka/kafka_scan.h"
#include "messages/broker/kafka/kafka_scan_private.h"

/*
 * The thread: jobs come in, and go back to the loop.  What a job does is in
 * kafka_scan_run.c.
 */
enum { IDLE_S = 15 };

struct kafka_scan {
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	/* With the mutex: */
	struct kafka_scan_job *first, **last;
	bool end;
	struct loop *loop;
	bool begun; /* the loop's: the thread is there */
	/* The thread's: */
	rd_kafka_conf_t *conf;
	rd_kafka_t *consumer; /* NULL: none now */
};

/* --- what it is about --- */

bool
kafka_scan_place(struct span id, struct kafka_place *ret_place)
{
	struct span piece;
	int64_t topic, number, offset;
	if (!span_next(&id, '-', &piece) ||
	    !digits_read(piece, INT32_MAX, &topic) ||
	    !span_next(&id, '-', &piece) ||
	    !digits_read(piece, INT32_MAX, &number) ||
	    !span_next(&id, '-', &piece) ||
	    !digits_read(piece, INT64_MAX - 1, &offset) || id.ptr != NULL)
		return false;
	*ret_place = (struct kafka_place){
	    (unsigned)topic, (int32_t)number, offset};
	return true;
}

struct span
kafka_scan_part(struct span position)
{
	size_t len = position.len;
	while (len > 0 && position.ptr[len - 1] != '/')
		len--;
	return len > 0 ? span_of(position.ptr, len - 1) : SPAN("");
}

bool
kafka_scan_is_finished(const struct kafka_stand *stand, int64_t offset)
{
	if (offset < stand->low)
		return true;
	for (size_t i = 0; i < stand->n_ranges; i++)
		if (offset >= stand->ranges[i].from &&
		    offset < stand->ranges[i].to)
			return true;
	return false;
}

void
kafka_scan_job_free(struct kafka_scan_job **job)
{
	struct kafka_scan_job *j = *job;
	*job = NULL;
	if (j == NULL)
		return;
	kafka_scan_run_drop(j, &j->messages);
	for (struct kafka_known *k = j->known; k != NULL; k = k->next)
		kafka_ring_forget(&k->stand);
	struct arena *arena = j->arena;
	arena_free(&arena);
}

/* --- the thread --- */

static void
let_consumer_go(struct kafka_scan *scan)
{
	if (scan->consumer == NULL)
		return;
	rd_kafka_assign(scan->consumer, NULL);
	rd_kafka_destroy_flags(
	    scan->consumer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
	scan->consumer = NULL;
}

static bool
has_consumer(struct kafka_scan *scan, struct kafka_scan_job *job)
{
	if (scan->consumer != NULL)
		return true;
	rd_kafka_conf_t *conf = rd_kafka_conf_dup(scan->conf);
	scan->consumer = rd_kafka_new(
	    RD_KAFKA_CONSUMER, conf, job->words, sizeof job->words);
	if (scan->consumer == NULL) {
		rd_kafka_conf_destroy(conf);
		return false;
	}
	rd_kafka_poll_set_consumer(scan->consumer);
	return true;
}

static void
free_scan(struct kafka_scan *scan)
{
	for (struct kafka_scan_job *job = scan->first, *next; job != NULL;
	     job = next) {
		next = job->queue;
		kafka_scan_job_free(&job);
	}
	rd_kafka_conf_destroy(scan->conf);
	pthread_cond_destroy(&scan->wake);
	pthread_mutex_destroy(&scan->mutex);
	free(scan);
}

/* The next job, or NULL: it is to end, or there was none for a while. */
static struct kafka_scan_job *
next_job(struct kafka_scan *scan)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += IDLE_S;
	int timed_out = 0;
	pthread_mutex_lock(&scan->mutex);
	while (scan->first == NULL && !scan->end && timed_out == 0)
		timed_out = scan->consumer != NULL
		    ? pthread_cond_timedwait(
			  &scan->wake, &scan->mutex, &until)
		    : pthread_cond_wait(&scan->wake, &scan->mutex);
	struct kafka_scan_job *job = scan->end ? NULL : scan->first;
	if (job != NULL && (scan->first = job->queue) == NULL)
		scan->last = &scan->first;
	pthread_mutex_unlock(&scan->mutex);
	return job;
}

/* On the loop. */
static void
on_job_over(void *arg)
{
	struct kafka_scan_job *job = arg;
	if (job->done != NULL)
		job->done(job->arg, job);
	else
		kafka_scan_job_free(&job);
}

static bool
has_ended(struct kafka_scan *scan)
{
	pthread_mutex_lock(&scan->mutex);
	bool end = scan->end;
	pthread_mutex_unlock(&scan->mutex);
	return end;
}

/* Where it has ended there may be no loop any more. */
static void
give_job_back(struct kafka_scan *scan, struct kafka_scan_job *job)
{
	pthread_mutex_lock(&scan->mutex);
	bool end = scan->end;
	if (!end)
		loop_post(scan->loop, on_job_over, job);
	pthread_mutex_unlock(&scan->mutex);
	if (end)
		kafka_scan_job_free(&job);
}

static void *
scan_jobs(void *arg)
{
	struct kafka_scan *scan = arg;
	while (!has_ended(scan)) {
		struct kafka_scan_job *job = next_job(scan);
		if (job == NULL) {
			let_consumer_go(scan);
			continue;
		}
		if (has_consumer(scan, job))
			kafka_scan_run(scan->consumer, job);
		give_job_back(scan, job);
	}
	let_consumer_go(scan);
	free_scan(scan);
	arena_trim();
	return NULL;
}

/* --- for the loop --- */

struct kafka_scan *
kafka_scan_new(struct loop *loop, rd_kafka_conf_t *conf)
{
	struct kafka_scan *scan = mem_zero(sizeof *scan);
	scan->loop = loop;
	scan->conf = conf;
	scan->last = &scan->first;
	must(pthread_mutex_init(&scan->mutex, NULL) == 0);
	must(pthread_cond_init(&scan->wake, NULL) == 0);
	return scan;
}

/* The thread begins with the first job for which there is one. */
static bool
has_thread(struct kafka_scan *scan)
{
	if (!scan->begun)
		scan->begun = thread_begin(scan_jobs, scan);
	return scan->begun;
}

void
kafka_scan_begin(struct kafka_scan *scan, struct kafka_scan_job *job)
{
	job->queue = NULL;
	if (!has_thread(scan)) {
		snprintf(
		    job->words, sizeof job->words, "no thread can be made");
		loop_post(scan->loop, on_job_over, job);
		return;
	}
	pthread_mutex_lock(&scan->mutex);
	*scan->last = job;
	scan->last = &job->queue;
	pthread_cond_signal(&scan->wake);
	pthread_mutex_unlock(&scan->mutex);
}

void
kafka_scan_end(struct kafka_scan **scan)
{
	struct kafka_scan *s = *scan;
	*scan = NULL;
	if (s == NULL)
		return;
	if (!s->begun) {
		free_scan(s);
		return;
	}
	pthread_mutex_lock(&s->mutex);
	s->end = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->mutex);
}
