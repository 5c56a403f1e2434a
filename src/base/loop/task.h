/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/list.h"

struct loop;

/*
 * A task is something that its owner will do later in this turn.  It is a
 * member of the owner, and is on the loop's ready list once or not at all.  The
 * loop's own thread.
 */
struct task {
	struct list link; /* in the loop's ready list */
	void (*run)(void *arg);
	void *arg;
};

void task_init(struct task *task, void (*run)(void *arg), void *arg);
/* run() is called later in this turn; a second call changes nothing. */
void task_ready(struct loop *loop, struct task *task);
/* Takes it off the list, if it is on it. */
void task_cancel(struct task *task);

/* A task of the heap, that task_run_all frees. */
struct task *task_new(void (*run)(void *arg), void *arg);
/* Runs such tasks from the first on, until none is in the list. */
void task_run_all(struct list *tasks);
