/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/loop_state.h"

/*
 * The end of a loop's turn, after its events: the ready list, hooks, and what
 * rests.  It knows no descriptors, threads or clocks; loop.c runs it, and so do
 * tests with a clock of their own.  The loop's own thread.
 */

void turn_init(struct loop_state *state,
    int64_t (*now_ms)(struct loop_state *state));
/*
 * After the events and timers of a turn: does all the work there is, then
 * flushes.  True: there is more to do, and the loop must not block.
 */
bool turn_end(struct loop_state *state);
/* Runs what is ready, destroys what rests, and forgets all timers. */
void turn_free(struct loop_state *state);

/* Do what loop_hook, loop_unhook and loop_rest (loop/loop.h) promise. */
void turn_hook(struct loop_state *state, enum hook_kind kind,
    struct hook *hook, bool (*run)(void *arg), void *arg);
void turn_unhook(
    struct loop_state *state, enum hook_kind kind, struct hook *hook);
void turn_rest(
    struct loop_state *state, void *ptr, void (*destroy)(void *ptr));
