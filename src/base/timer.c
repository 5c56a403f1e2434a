/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "base/timer_private.h"

static void
put(struct timers *timers, unsigned place, struct timer *timer)
{
	timers->heap[place] = timer;
	timer->place = place;
}

static void
move_up(struct timers *timers, unsigned place, struct timer *timer)
{
	while (place > 1 && timers->heap[place / 2]->at_ms > timer->at_ms) {
		put(timers, place, timers->heap[place / 2]);
		place /= 2;
	}
	put(timers, place, timer);
}

static void
move_down(struct timers *timers, unsigned place, struct timer *timer)
{
	for (;;) {
		unsigned child = 2 * place;
		if (child > timers->count)
			break;
		if (child < timers->count &&
		    timers->heap[child + 1]->at_ms < timers->heap[child]->at_ms)
			child++;
		if (timers->heap[child]->at_ms >= timer->at_ms)
			break;
		put(timers, place, timers->heap[child]);
		place = child;
	}
	put(timers, place, timer);
}

void
timers_add(struct timers *timers, struct timer *timer)
{
	must(timer->place == 0);
	if (timers->count + 1 >= timers->size) {
		timers->size = timers->size ? 2 * timers->size : 64;
		timers->heap = mem_grow(
		    timers->heap, timers->size * sizeof *timers->heap);
	}
	move_up(timers, ++timers->count, timer);
}

void
timers_remove(struct timers *timers, struct timer *timer)
{
	unsigned place = timer->place;
	if (place == 0)
		return;
	must(timers->heap[place] == timer);
	timer->place = 0;
	struct timer *last = timers->heap[timers->count--];
	if (last == timer)
		return;
	if (place > 1 && timers->heap[place / 2]->at_ms > last->at_ms)
		move_up(timers, place, last);
	else
		move_down(timers, place, last);
}

int64_t
timers_next(const struct timers *timers)
{
	return timers->count > 0 ? timers->heap[1]->at_ms : -1;
}

void
timers_fire(struct timers *timers, int64_t now_ms)
{
	/*
	 * Bounded by the number that was set at the start, so that a timer
	 * which sets itself to "now" cannot keep the loop here.
	 */
	for (unsigned n = timers->count; n > 0; n--) {
		if (timers->count == 0 || timers->heap[1]->at_ms > now_ms)
			return;
		struct timer *timer = timers->heap[1];
		timers_remove(timers, timer);
		timer->fire(timer->arg);
	}
}

void
timers_free(struct timers *timers)
{
	for (unsigned i = 1; i <= timers->count; i++)
		timers->heap[i]->place = 0;
	free(timers->heap);
	*timers = (struct timers){0};
}
