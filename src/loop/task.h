/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

struct loop;

/*
 * A task is what its owner does later in this turn: a member of the owner,
 * it is on the loop's ready list once or not.  The loop's own thread.
 */
struct task {
	struct task *next;
	struct task **link; /* what points to it while it is on the list */
	struct loop *loop;  /* whose list that is */
	void (*run)(void *arg);
	void *arg;
};

void task_init(struct task *task, void (*run)(void *arg), void *arg);
/* Has run() called later in this turn; a second call changes nothing. */
void task_ready(struct loop *loop, struct task *task);
/* Takes it off the list again, where it is on it. */
void task_cancel(struct task *task);
