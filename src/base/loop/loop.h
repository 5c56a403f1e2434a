/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/loop/clock.h"
#include "base/loop/hook.h"
#include "base/loop/task.h"
#include "base/loop/timer.h"
#include "base/loop/watch.h"

/*
 * The event loop of one thread (libuv behind a few functions): descriptors to
 * watch, timers, a ready list and calls from other threads.  It knows nothing
 * of HTTP or Redis.  All functions but loop_post and loop_now_ms are called by
 * the loop's own thread.
 *
 * A turn is: events; then, until nothing is left to do, the ready list and the
 * hooks of HOOK_WORK; then the hooks of HOOK_FLUSH; then timers that are due,
 * and all that once more; then it blocks.  A completion only puts a task on the
 * ready list, so no function is entered again from within itself.  Work that
 * never ends is left after a while, so that events and timers have their turn.
 *
 * Before a timer fires, all that had come when it was due has been read and
 * worked on, even if the process was stopped meanwhile: a deadline passes where
 * nothing has come, and never where it lies unread in a socket.
 */
struct loop;

struct loop *loop_new(void);
/* Frees a loop that is not running; nulls the caller's pointer. */
void loop_free(struct loop **loop);
/* Runs until loop_stop. */
void loop_run(struct loop *loop);
/* Ends loop_run after this turn. */
void loop_stop(struct loop *loop);

/* Milliseconds of a clock that never jumps, as of the start of this turn. */
int64_t loop_now_ms(const struct loop *loop);

/* --- hooks --- */

/* Of one kind, the hooks that were added last run first. */
void loop_hook(struct loop *loop, enum hook_kind kind, struct hook *hook,
    bool (*run)(void *arg), void *arg);
void loop_unhook(struct hook *hook);

/* --- other threads --- */

/* Makes the loop's thread call run(arg); any thread may post. */
void loop_post(struct loop *loop, void (*run)(void *arg), void *arg);
