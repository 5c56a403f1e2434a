/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop.h"

/*
 * The set timers of one loop: a binary heap, the earliest first.  It knows no
 * clock; the loop tells it the time.  The loop's own thread only.
 */
struct timers {
	struct timer **heap; /* from 1 */
	unsigned count;
	unsigned size;
};

/* The timer must not be set. */
void timers_add(struct timers *timers, struct timer *timer);
/* Nothing happens where it is not set. */
void timers_remove(struct timers *timers, struct timer *timer);
/* When the earliest is due, in the loop's milliseconds; -1: none is set. */
int64_t timers_next(const struct timers *timers);
/* Fires what is due by now; a timer set meanwhile waits for the next call. */
void timers_fire(struct timers *timers, int64_t now_ms);
/* Forgets them all and frees the heap. */
void timers_free(struct timers *timers);
