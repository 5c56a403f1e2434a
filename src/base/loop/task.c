/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/loop/loop_state.h"
#include "base/loop/task.h"
#include "base/mem.h"

void
task_ready(struct loop *loop, struct task *task)
{
	if (!list_linked(&task->link))
		list_add_last(&loop_state_of(loop)->ready, &task->link);
}

void
task_cancel(struct task *task)
{
	list_remove(&task->link);
}

struct task *
task_new(void (*run)(void *arg), void *arg)
{
	struct task *task = mem_zero(sizeof *task);
	*task = (struct task){.run = run, .arg = arg};
	return task;
}

void
task_rest(struct loop *loop, void *ptr, void (*destroy)(void *ptr))
{
	struct loop_state *state = loop_state_of(loop);
	list_add_first(&state->rested, &task_new(destroy, ptr)->link);
	state->rests = true;
}

void
task_run_all(struct list *tasks)
{
	struct task *task;
	while ((task = LIST_FIRST(tasks, struct task, link)) != NULL) {
		task_cancel(task);
		task->run(task->arg);
		free(task);
	}
}
