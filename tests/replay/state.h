/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

/*
 * A hash over everything that decides how the world can go on: two runs that
 * reach the same state go on alike, so the second one need not be followed.
 */
uint64_t world_hash(void);
/* The same where no more faults come, whatever is left of them. */
uint64_t world_hash_at_end(void);
