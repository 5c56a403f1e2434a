/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The event loop of one thread (libuv behind our few verbs): descriptors to
 * watch, timers, a ready list and messages from other threads.  It knows
 * nothing of HTTP or Redis.  All functions but loop_post and loop_now_ms are
 * called by the loop's own thread.
 *
 * A turn is: events and timers; then, until nothing is left, the ready list
 * and the hooks of HOOK_WORK; then the hooks of HOOK_FLUSH; then it blocks.
 * Completions only ever put tasks on the ready list, so no function is
 * entered a second time from within itself.
 */
struct loop;

struct loop *loop_new(void);
/* Frees a loop that is not running; nulls the caller's pointer. */
void loop_free(struct loop **loop);
/* Runs until loop_stop. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

/* Milliseconds of a clock that never jumps, as of this turn's start. */
int64_t loop_now_ms(const struct loop *loop);
/* The same clock read now, in microseconds, for measuring. */
int64_t clock_us(void);
/* Wall clock, in milliseconds since 1970 (UTC), for people and records. */
int64_t clock_wall_ms(void);

/* --- descriptors --- */

enum {
	WATCH_READ = 1,
	WATCH_WRITE = 2,
	WATCH_HANG_UP = 4, /* the other end has closed its half, or all */
};

/*
 * A watch tells, level-triggered, that a descriptor can be read or written
 * (errors and hang-ups count as both that are wanted).  The descriptor stays
 * the caller's, who frees the watch before closing it.
 */
struct watch;

struct watch *watch_new(struct loop *loop, int fd,
    void (*ready)(void *arg, unsigned events), void *arg);
/* Sets what is wanted: WATCH_ flags, 0 for nothing. */
void watch_want(struct watch *watch, unsigned events);
/* No call comes after it; nulls the caller's pointer, accepts NULL. */
void watch_free(struct watch **watch);

/* --- timers --- */

/* A timer is a member of its owner; zeroed memory is an unset timer. */
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

/* --- the ready list --- */

/* A task is a member of its owner; it is on the ready list once or not. */
struct task {
	struct task *next;
	struct task **link; /* what points to it while it is on the list */
	struct loop *loop;  /* whose list that is */
	void (*run)(void *arg);
	void *arg;
};

void task_init(struct task *task, void (*run)(void *arg), void *arg);
/* Has run() called later in this turn; a second call changes nothing. */
void task_ready(struct loop *loop, struct task *task);
/* Takes it off the list again, where it is on it. */
void task_cancel(struct task *task);

/* --- hooks --- */

enum hook_kind {
	HOOK_WORK,  /* returns true while it may have more to do */
	HOOK_FLUSH, /* once before blocking; true: do not block this time */
	HOOK_KINDS,
};

/* A hook is a member of its owner. */
struct hook {
	struct hook *next;
	bool (*run)(void *arg);
	void *arg;
};

/* Of one kind, those that were added last run first. */
void loop_hook(struct loop *loop, enum hook_kind kind, struct hook *hook,
    bool (*run)(void *arg), void *arg);
void loop_unhook(struct loop *loop, enum hook_kind kind, struct hook *hook);

/* --- resting --- */

/*
 * Calls destroy(ptr) at the end of the next turn: what a late event of this
 * one may still point to rests until then.
 */
void loop_rest(struct loop *loop, void *ptr, void (*destroy)(void *ptr));

/* --- other threads --- */

/* Has run(arg) called by the loop's thread; any thread may post. */
void loop_post(struct loop *loop, void (*run)(void *arg), void *arg);
