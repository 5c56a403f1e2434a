/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct loop;

/*
 * A timer is a member of its owner, who only ever sets and clears it by these
 * functions; zeroed memory is an unset timer.  The loop's own thread.
 */
struct timer {
	struct loop *loop;
	void (*fire)(void *arg);
	void *arg;
	int64_t at_ms;
	unsigned place; /* in the loop's heap, from 1; 0: not set */
};

void timer_init(struct timer *timer, struct loop *loop,
    void (*fire)(void *arg), void *arg);
/* Fires once, ms from now (0 or more: in the next turn), not before. */
void timer_set(struct timer *timer, int64_t ms);
void timer_clear(struct timer *timer);

static inline bool
timer_is_set(const struct timer *timer)
{
	return timer->place != 0;
}
