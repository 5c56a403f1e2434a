/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/loop/loop_state.h"
#include "base/loop/timer.h"
#include "base/mem.h"
#include "base/must.h"

/* --- one timer --- */

/* Puts a timer where it belongs, at that position of the heap or above. */
static void
move_up(struct timer_heap *heap, unsigned at, struct timer *timer)
{
	for (; at > 1 && heap->list[at / 2]->at_ms > timer->at_ms; at /= 2) {
		heap->list[at] = heap->list[at / 2];
		heap->list[at]->position = at;
	}
	heap->list[at] = timer;
	timer->position = at;
}

/* Puts a timer where it belongs, at that position or below. */
static void
move_down(struct timer_heap *heap, unsigned at, struct timer *timer)
{
	for (unsigned child; (child = 2 * at) <= heap->count; at = child) {
		if (child < heap->count &&
		    heap->list[child + 1]->at_ms < heap->list[child]->at_ms)
			child++;
		if (heap->list[child]->at_ms >= timer->at_ms)
			break;
		heap->list[at] = heap->list[child];
		heap->list[at]->position = at;
	}
	heap->list[at] = timer;
	timer->position = at;
}

static void
heap_remove(struct timer_heap *heap, struct timer *timer)
{
	unsigned at = timer->position;
	if (at == 0)
		return;
	must(heap->list[at] == timer);
	timer->position = 0;
	/* The last one takes its position, and goes on from there. */
	struct timer *last = heap->list[heap->count--];
	if (last == timer)
		return;
	if (at > 1 && heap->list[at / 2]->at_ms > last->at_ms)
		move_up(heap, at, last);
	else
		move_down(heap, at, last);
}

void
timer_init(struct timer *timer, struct loop *loop,
    void (*fire)(void *arg), void *arg)
{
	*timer = (struct timer){.loop = loop, .fire = fire, .arg = arg};
}

void
timer_set_at(struct timer *timer, int64_t at_ms)
{
	struct timer_heap *heap = &loop_state_of(timer->loop)->timers;
	heap_remove(heap, timer);
	timer->at_ms = at_ms;
	if (heap->count + 1 >= heap->size) {
		heap->size = heap->size ? 2 * heap->size : 64;
		heap->list = mem_grow(
		    heap->list, heap->size * sizeof *heap->list);
	}
	move_up(heap, ++heap->count, timer);
}

void
timer_set(struct timer *timer, int64_t ms)
{
	int64_t now_ms = loop_state_of(timer->loop)->now_ms(timer->loop);
	timer_set_at(timer, now_ms + (ms > 0 ? ms : 0));
}

void
timer_set_by(struct timer *timer, int64_t at_ms)
{
	int64_t now_ms = loop_state_of(timer->loop)->now_ms(timer->loop);
	if (!timer_is_set(timer) || timer->at_ms > at_ms)
		timer_set(timer, at_ms - now_ms);
}

void
timer_clear(struct timer *timer)
{
	if (timer_is_set(timer))
		heap_remove(&loop_state_of(timer->loop)->timers, timer);
}

/* --- all of them --- */

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
		if (timer->fire != NULL)
			timer->fire(timer->arg);
	}
}
