/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/loop/task.h"
#include "base/loop/timer.h"
#include "base/loop/turn.h"

/*
 * Rounds of work in one turn, and what is run of the ready list, at most: then
 * descriptors and timers have their turn, even if operations that end at once
 * start each other for ever.
 */
enum { ROUNDS_MAX = 64, TASKS_MAX = 4096 };

static void
run_task(struct loop_state *state)
{
	struct task *task = CONTAINER_OF(state->ready.next, struct task, link);
	task_cancel(task);
	task->run(task->arg);
}

/* Runs all hooks of a kind; true when one of them has more to do. */
static bool
run_hooks(struct loop_state *state, enum hook_kind kind)
{
	bool more = false;
	struct hook *hook;
	LIST_EACH(hook, &state->hooks[kind], link)
		more |= hook->run(hook->arg);
	return more;
}

bool
turn_run_ready(struct loop_state *state)
{
	bool more = true;
	int tasks = 0;
	for (int round = 0;
	     more && round < ROUNDS_MAX && tasks < TASKS_MAX; round++) {
		for (; !list_empty(&state->ready) && tasks < TASKS_MAX; tasks++)
			run_task(state);
		more = run_hooks(state, HOOK_WORK);
		more |= !list_empty(&state->ready);
	}
	more |= run_hooks(state, HOOK_FLUSH);
	more |= !list_empty(&state->ready);

	if (!state->rests)
		return more;
	task_run_all(&state->rested_old);
	list_move_all(&state->rested, &state->rested_old);
	/* While something rests, the next turn must come without an event. */
	state->rests = !list_empty(&state->rested_old);
	return more || state->rests;
}

void
turn_init(struct loop_state *state,
    int64_t (*now_ms)(const struct loop *loop))
{
	*state = (struct loop_state){.now_ms = now_ms};
	list_init(&state->ready);
	list_init(&state->rested);
	list_init(&state->rested_old);
	for (int kind = 0; kind < HOOK_KINDS; kind++)
		list_init(&state->hooks[kind]);
}

void
turn_free(struct loop_state *state)
{
	while (!list_empty(&state->ready))
		run_task(state);
	task_run_all(&state->rested_old);
	task_run_all(&state->rested);
	for (unsigned i = 1; i <= state->timers.count; i++)
		state->timers.list[i]->position = 0;
	free(state->timers.list);
	state->timers = (struct timer_heap){0};
}
