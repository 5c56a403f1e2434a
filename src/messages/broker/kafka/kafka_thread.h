/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "base/loop/loop.h"

/*
 * A thread for what of librdkafka blocks: jobs, one after the other, each of
 * which comes back to the loop.  It knows neither what they do nor whose they
 * are.  All functions but kafka_thread_ends() are for the thread of the loop.
 *
 * The loop has it until kafka_thread_end(); from then on it is its own, and
 * frees itself, whatever of its jobs the loop has still to be told.
 */
struct kafka_thread;

/* A member of what is to be done, which is the thread's until done(). */
struct kafka_job {
	struct list link;
	/* In the thread; it may block. */
	void (*run)(struct kafka_job *job);
	/*
	 * In the loop, and the job is the caller's again.  Not wanted: the
	 * thread was ended meanwhile, and the job may not have been run; it is
	 * to be freed and nothing else, which may be in any thread then.
	 */
	void (*done)(struct kafka_job *job, bool wanted);
	struct kafka_thread *thread; /* NULL: it was ended */
};

/* NULL: the system has no thread to give now. */
struct kafka_thread *kafka_thread_new(struct loop *loop);
void kafka_thread_add(struct kafka_thread *thread, struct kafka_job *job);
/* Whether what is being done is to be given up; any thread. */
bool kafka_thread_ends(struct kafka_thread *thread);
/*
 * It ends by itself, once the job that is under way is over, and does that
 * last, in any case (NULL: nothing).  Nulls the pointer.
 */
void kafka_thread_end(
    struct kafka_thread **thread, void (*last)(void *arg), void *arg);

/*
 * How many of that loop's were ended a moment ago, and are not over.  A drain
 * waits for 0: what takes longer is librdkafka's own, which may not come to an
 * end where a topic was deleted, and nothing is lost with it.
 */
size_t kafka_thread_leaving(const struct loop *loop);
/*
 * Those that were ended go on without the loop, which is about to be freed; all
 * of its others are ended and abandoned before that, too.
 */
void kafka_thread_abandon(const struct loop *loop);
