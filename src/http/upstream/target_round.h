/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "http/upstream/target.h"

/*
 * The way of one request through an upstream's targets, each once, in turns:
 * a round begins where the last one went on to.  The worker's thread only.
 * Zeroed memory at first; it can be begun again and again, and
 * target_round_free frees what it keeps.
 */
struct target_round {
	/* The round's own: */
	struct target_list *targets;
	size_t first;
	bool *tried;
	size_t size; /* of tried; kept from round to round */
};

void target_round_begin(
    struct target_round *round, struct target_list *targets);
/*
 * The next target that this round has not tried, those that are down last of
 * all (somebody must find out that they are back); NULL: no more.
 */
struct target *target_round_next(struct target_round *round, int64_t now_ms);
void target_round_free(struct target_round *round);
