/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "replay/world.h"

/*
 * Runs scenarios.  A run that fails prints what happened in it and its list
 * of choices, and REPLAY_CHOICES=LIST with the test's name as its argument
 * runs it alone, with the gateway's debug log:
 *
 *     REPLAY_CHOICES=0.0.1 tests/replay/test_orders 'a name'
 */

/* Every order of all that may happen, of all scenarios or of the one that
 * the arguments name; a main(). */
int explore_all(const struct scenario *list, size_t count, int argc,
    char **argv);
/*
 * Scenarios that are drawn, each from its seed: as many as REPLAY_RUNS says,
 * else runs of them; the first has REPLAY_SEED.  REPLAY_RUNS=1 shows that one
 * with the gateway's debug log.  Also a main().
 */
int simulate_all(void (*draw)(uint64_t seed, struct scenario *ret_scenario),
    unsigned runs);
