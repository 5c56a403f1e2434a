/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/loop/hook.h"

/*
 * The part of a loop that needs no descriptors, other threads or clocks: timers
 * that are set, the ready list, hooks, and what rests.  It is the first member
 * of struct loop, so that timer.c, task.c and turn.c need not know the rest,
 * and a test can put another loop around it.  For those three and whoever
 * defines a struct loop.  The loop's own thread.
 */
struct loop;

/* A binary heap, the earliest timer first. */
struct timer_heap {
	struct timer **list; /* from 1 */
	unsigned count;
	unsigned size;
};

struct loop_state {
	/* The loop's milliseconds, as of the start of this turn. */
	int64_t (*now_ms)(const struct loop *loop);
	struct timer_heap timers;
	struct list ready; /* of tasks */
	struct list hooks[HOOK_KINDS];
	bool rests;             /* anything is in one of these: */
	struct list rested;     /* tasks, put there in this turn */
	struct list rested_old; /* in the turn before */
};

static inline struct loop_state *
loop_state_of(struct loop *loop)
{
	return (struct loop_state *)(void *)loop;
}
