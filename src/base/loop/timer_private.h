/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/loop_state.h"
#include "base/loop/timer.h"

/* The timers of a loop, for whoever runs it.  The loop's own thread. */

/* When the earliest is due, in the loop's milliseconds; -1: none is set. */
int64_t timer_next(const struct timer_heap *heap);
/* Fires what is due by now; no more timers than were set when it was called. */
void timer_fire(struct timer_heap *heap, int64_t now_ms);
/* Forgets all timers, and frees the heap. */
void timer_forget(struct timer_heap *heap);
