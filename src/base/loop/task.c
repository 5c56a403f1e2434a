/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>

#include "base/loop/loop_state.h"
#include "base/loop/task.h"

void
task_init(struct task *task, void (*run)(void *arg), void *arg)
{
	*task = (struct task){.run = run, .arg = arg};
}

void
task_ready(struct loop *loop, struct task *task)
{
	struct loop_state *state = loop_state_of(loop);
	if (task->link != NULL)
		return;
	task->loop = loop;
	task->next = NULL;
	task->link = state->ready_end;
	*task->link = task;
	state->ready_end = &task->next;
}

void
task_cancel(struct task *task)
{
	if (task->link == NULL)
		return;
	*task->link = task->next;
	if (task->next != NULL)
		task->next->link = task->link;
	else
		loop_state_of(task->loop)->ready_end = task->link;
	task->link = NULL;
	task->next = NULL;
}
