/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct loop;

/*
 * A timer is a member of its owner, which clears it before it is gone; zeroed
 * memory is a timer that is not set.  The loop's own thread.
 */
struct timer {
	struct loop *loop;
	void (*fire)(void *arg);
	void *arg;
	int64_t at_ms;
	unsigned position; /* in the loop's heap, from 1; 0: not set */
};

/* fire NULL: that a turn begins is all that is wanted. */
void timer_init(struct timer *timer, struct loop *loop,
    void (*fire)(void *arg), void *arg);
/*
 * Fires once, no earlier than in ms milliseconds; 0 or less: in the next turn.
 * One that is set already is set anew.
 */
void timer_set(struct timer *timer, int64_t ms);
/*
 * Fires at a time of clock_us in milliseconds.  timer_set() counts from the
 * start of the turn, which may be long ago where the process was stopped since.
 */
void timer_set_at(struct timer *timer, int64_t at_ms);
/* Fires at that time of the loop's clock, unless it fires earlier anyway. */
void timer_set_by(struct timer *timer, int64_t at_ms);
void timer_clear(struct timer *timer);

static inline bool
timer_is_set(const struct timer *timer)
{
	return timer->position != 0;
}

/* --- all timers of a loop, for whoever runs it --- */

struct timer_heap; /* in loop/loop_state.h */

/* When the earliest is due, in the loop's milliseconds; -1: none is set. */
int64_t timer_next(const struct timer_heap *heap);
/* Fires what is due by now; no more timers than were set when it was called. */
void timer_fire(struct timer_heap *heap, int64_t now_ms);
