/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "loop/loop_state.h"
#include "loop/timer.h"

/* The timers of a loop, for whoever runs it. */

/* When the earliest is due, in the loop's milliseconds; -1: none is set. */
int64_t timer_next(const struct timer_heap *heap);
/* Fires what is due by now; a timer set meanwhile waits for the next call. */
void timer_fire(struct timer_heap *heap, int64_t now_ms);
/* Forgets them all and frees the heap. */
void timer_forget(struct timer_heap *heap);
