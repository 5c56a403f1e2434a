/* SPDX-License-Identifier: BSD-2-Clause */
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
	if (!list_linked(&task->link))
		list_add_last(&loop_state_of(loop)->ready, &task->link);
}

void
task_cancel(struct task *task)
{
	list_remove(&task->link);
}
