/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop.h"
#include "base/timer_private.h"

/*
 * What a turn of a loop consists of, apart from descriptors, other threads
 * and clocks: the ready list, hooks, timers and what rests.  It is the first
 * member of struct loop, for loop.c alone; the verbs of loop.h that need no
 * more than this are in turn.c.  The loop's own thread.
 */
struct turn {
	struct timers timers;
	struct task *ready;
	struct task **ready_end;
	struct hook *hooks[HOOK_KINDS];
	struct rested *rested;     /* in this turn */
	struct rested *rested_old; /* in the one before */
};

void turn_init(struct turn *turn);
/*
 * Behind the events and timers of a turn: all the work there is, then the
 * flush.  True: there is more to do, and the loop must not block.
 */
bool turn_end(struct turn *turn);
/* Runs what is ready, and frees what rests; no timer fires any more. */
void turn_free(struct turn *turn);
