/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/list.h"

struct loop;

/*
 * A task is something to do later.  What an owner will do in this turn is a
 * member of it, on the loop's ready list once or not at all, and of the loop's
 * own thread.  What other threads post, and what rests for a turn, is a task of
 * the heap.
 */
struct task {
	struct list link; /* in the list of those that wait */
	void (*run)(void *arg);
	void *arg;
};

/* run() is called later in this turn; a second call changes nothing. */
void task_ready(struct loop *loop, struct task *task);
/* Takes it off the list, if it is on it. */
void task_cancel(struct task *task);

/*
 * Calls destroy(ptr) at the end of the next turn: until then it rests, as a
 * late event of this turn may still point to it.
 */
void task_rest(struct loop *loop, void *ptr, void (*destroy)(void *ptr));

/* A task of the heap, that task_run_all frees.  Any thread. */
struct task *task_new(void (*run)(void *arg), void *arg);
/* Runs such tasks from the first on, until none is in the list. */
void task_run_all(struct list *tasks);
