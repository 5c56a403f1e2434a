/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "replay/world.h"

/*
 * Runs scenarios.  A run that fails prints what happened and its list of
 * choices; REPLAY_CHOICES=LIST, with the test's name as the argument, runs it
 * alone, with the gateway's debug log:
 *
 *     REPLAY_CHOICES=0.0.1 tests/replay/test_orders 'a name'
 */

/*
 * Explores every order of events, of all scenarios or of the one that the
 * arguments name; for a main().
 */
int explore_all(const struct scenario *list, size_t count, int argc,
    char **argv);
/*
 * Runs scenarios that are drawn, each from a seed: REPLAY_RUNS of them, or else
 * runs; the first has REPLAY_SEED.  REPLAY_RUNS=1 shows that one with the
 * gateway's debug log.  For a main().
 */
int simulate_all(void (*draw)(uint64_t seed, struct scenario *ret_scenario),
    unsigned runs);
