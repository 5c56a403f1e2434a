/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/loop/timer_private.h"
#include "base/mem.h"
#include "base/must.h"

/* --- the heap --- */

static void
put_at(struct timer_heap *heap, unsigned place, struct timer *timer)
{
	heap->list[place] = timer;
	timer->place = place;
}

static void
move_up(struct timer_heap *heap, unsigned place, struct timer *timer)
{
	while (place > 1 && heap->list[place / 2]->at_ms > timer->at_ms) {
		put_at(heap, place, heap->list[place / 2]);
		place /= 2;
	}
	put_at(heap, place, timer);
}

static void
move_down(struct timer_heap *heap, unsigned place, struct timer *timer)
{
	for (;;) {
		unsigned child = 2 * place;
		if (child > heap->count)
			break;
		if (child < heap->count &&
		    heap->list[child + 1]->at_ms < heap->list[child]->at_ms)
			child++;
		if (heap->list[child]->at_ms >= timer->at_ms)
			break;
		put_at(heap, place, heap->list[child]);
		place = child;
	}
	put_at(heap, place, timer);
}

/* For a timer that is not set. */
static void
heap_add(struct timer_heap *heap, struct timer *timer)
{
	must(timer->place == 0);
	if (heap->count + 1 >= heap->size) {
		heap->size = heap->size ? 2 * heap->size : 64;
		heap->list = mem_grow(
		    heap->list, heap->size * sizeof *heap->list);
	}
	move_up(heap, ++heap->count, timer);
}

/* Does nothing where it is not set. */
static void
heap_remove(struct timer_heap *heap, struct timer *timer)
{
	unsigned place = timer->place;
	if (place == 0)
		return;
	must(heap->list[place] == timer);
	timer->place = 0;
	struct timer *last = heap->list[heap->count--];
	if (last == timer)
		return;
	if (place > 1 && heap->list[place / 2]->at_ms > last->at_ms)
		move_up(heap, place, last);
	else
		move_down(heap, place, last);
}

int64_t
timer_next(const struct timer_heap *heap)
{
	return heap->count > 0 ? heap->list[1]->at_ms : -1;
}

void
timer_fire(struct timer_heap *heap, int64_t now_ms)
{
	/*
	 * Fires at most as many as were set at the start, so that a timer that
	 * sets itself to "now" cannot keep the loop here.
	 */
	for (unsigned n = heap->count; n > 0; n--) {
		if (heap->count == 0 || heap->list[1]->at_ms > now_ms)
			return;
		struct timer *timer = heap->list[1];
		heap_remove(heap, timer);
		timer->fire(timer->arg);
	}
}

void
timer_forget(struct timer_heap *heap)
{
	for (unsigned i = 1; i <= heap->count; i++)
		heap->list[i]->place = 0;
	free(heap->list);
	*heap = (struct timer_heap){0};
}

/* --- one timer --- */

void
timer_init(struct timer *timer, struct loop *loop,
    void (*fire)(void *arg), void *arg)
{
	*timer = (struct timer){.loop = loop, .fire = fire, .arg = arg};
}

void
timer_set_at(struct timer *timer, int64_t at_ms)
{
	struct loop_state *state = loop_state_of(timer->loop);
	heap_remove(&state->timers, timer);
	timer->at_ms = at_ms;
	heap_add(&state->timers, timer);
}

void
timer_set(struct timer *timer, int64_t ms)
{
	struct loop_state *state = loop_state_of(timer->loop);
	timer_set_at(timer, state->now_ms(state) + (ms > 0 ? ms : 0));
}

void
timer_clear(struct timer *timer)
{
	if (timer->place != 0)
		heap_remove(&loop_state_of(timer->loop)->timers, timer);
}
