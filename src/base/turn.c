/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "base/turn.h"

/* So many rounds of work in one turn before descriptors are looked at. */
enum { ROUNDS_MAX = 64 };

struct rested {
	struct rested *next;
	void *ptr;
	void (*destroy)(void *ptr);
};

static struct turn *
turn_of(struct loop *loop)
{
	return (struct turn *)(void *)loop;
}

/* --- the end of a turn --- */

static void
run_ready(struct turn *turn)
{
	while (turn->ready != NULL) {
		struct task *task = turn->ready;
		task_cancel(task);
		task->run(task->arg);
	}
}

/* Runs a kind of hooks; true when one of them wants to go on. */
static bool
run_hooks(struct turn *turn, enum hook_kind kind)
{
	bool more = false;
	struct hook *next;
	for (struct hook *hook = turn->hooks[kind]; hook; hook = next) {
		next = hook->next;
		more |= hook->run(hook->arg);
	}
	return more;
}

static void
destroy_rested(struct rested **list)
{
	struct rested *rested = *list;
	*list = NULL;
	while (rested != NULL) {
		struct rested *next = rested->next;
		rested->destroy(rested->ptr);
		free(rested);
		rested = next;
	}
}

bool
turn_end(struct turn *turn)
{
	bool more = true;
	for (int round = 0; more && round < ROUNDS_MAX; round++) {
		run_ready(turn);
		more = run_hooks(turn, HOOK_WORK);
		more |= turn->ready != NULL;
	}
	more |= run_hooks(turn, HOOK_FLUSH);
	more |= turn->ready != NULL;

	struct rested *old = turn->rested_old;
	turn->rested_old = turn->rested;
	turn->rested = NULL;
	destroy_rested(&old);
	/* What rests must go in the next turn, not only when one comes. */
	return more || turn->rested_old != NULL;
}

/* --- life --- */

void
turn_init(struct turn *turn)
{
	*turn = (struct turn){0};
	turn->ready_end = &turn->ready;
}

void
turn_free(struct turn *turn)
{
	run_ready(turn);
	while (turn->rested_old != NULL || turn->rested != NULL) {
		destroy_rested(&turn->rested_old);
		destroy_rested(&turn->rested);
	}
	timers_free(&turn->timers);
}

void
loop_rest(struct loop *loop, void *ptr, void (*destroy)(void *ptr))
{
	struct turn *turn = turn_of(loop);
	struct rested *rested = mem_zero(sizeof *rested);
	*rested = (struct rested){turn->rested, ptr, destroy};
	turn->rested = rested;
}

void
loop_hook(struct loop *loop, enum hook_kind kind, struct hook *hook,
    bool (*run)(void *arg), void *arg)
{
	struct turn *turn = turn_of(loop);
	*hook = (struct hook){turn->hooks[kind], run, arg};
	turn->hooks[kind] = hook;
}

void
loop_unhook(struct loop *loop, enum hook_kind kind, struct hook *hook)
{
	struct hook **at = &turn_of(loop)->hooks[kind];
	while (*at != NULL && *at != hook)
		at = &(*at)->next;
	must(*at == hook);
	*at = hook->next;
}

/* --- the ready list --- */

void
task_init(struct task *task, void (*run)(void *arg), void *arg)
{
	*task = (struct task){.run = run, .arg = arg};
}

void
task_ready(struct loop *loop, struct task *task)
{
	struct turn *turn = turn_of(loop);
	if (task->link != NULL)
		return;
	task->loop = loop;
	task->next = NULL;
	task->link = turn->ready_end;
	*task->link = task;
	turn->ready_end = &task->next;
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
		turn_of(task->loop)->ready_end = task->link;
	task->link = NULL;
	task->next = NULL;
}

/* --- timers --- */

void
timer_init(struct timer *timer, struct loop *loop,
    void (*fire)(void *arg), void *arg)
{
	*timer = (struct timer){.loop = loop, .fire = fire, .arg = arg};
}

void
timer_set(struct timer *timer, int64_t ms)
{
	struct timers *timers = &turn_of(timer->loop)->timers;
	timers_remove(timers, timer);
	timer->at_ms = loop_now_ms(timer->loop) + (ms > 0 ? ms : 0);
	timers_add(timers, timer);
}

void
timer_clear(struct timer *timer)
{
	if (timer->place != 0)
		timers_remove(&turn_of(timer->loop)->timers, timer);
}
