/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/loop_state.h"

/*
 * The end of a loop's turn, after its events: the ready list, hooks, and what
 * rests.  It knows no descriptors, threads or clocks; loop.c runs it, and so do
 * tests with a clock of their own.  The loop's own thread.
 */

void turn_init(struct loop_state *state,
    int64_t (*now_ms)(const struct loop *loop));
/*
 * After the events and timers of a turn: does all the work that there is, then
 * flushes.  True: there is more to do, and the loop must not block.
 */
bool turn_run_ready(struct loop_state *state);
/* Runs what is ready, destroys what rests, and forgets all timers. */
void turn_free(struct loop_state *state);
