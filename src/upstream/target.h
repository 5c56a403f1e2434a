/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "upstream/pool.h"

/*
 * The targets of one upstream, taken in turns: one that could not be reached
 * is passed over for a while, 1 s at first and up to 10 s.  It knows nothing
 * of messages.  The worker's thread only.
 */
struct target {
	const struct conf_target *conf;
	struct dialler dialler;
	struct pool pool;
	int64_t down_until_ms; /* of the loop's clock */
	int64_t down_ms;       /* how long the last time; 0: it was reached */
};

struct targets {
	struct target *list;
	size_t count;
	size_t turn; /* where the next round begins */
};

void targets_init(struct targets *targets, struct connector *connector,
    struct loop *loop, const struct conf_upstream *upstream);
/* Closes what is idle; no connection may be in use. */
void targets_end(struct targets *targets);

/* The way of one request through the targets; zeroed memory at first. */
struct round {
	struct targets *targets;
	size_t first;
	bool *tried;
	size_t size; /* of tried; kept from round to round */
};

void round_begin(struct round *round, struct targets *targets);
/*
 * The next target that this round has not tried, those that are passed over
 * last of all (somebody must find out that they are back); NULL: no more.
 */
struct target *round_next(struct round *round, int64_t now_ms);
void round_free(struct round *round);

/* A connection to it was made, or could not be. */
void target_reached(struct target *target);
void target_failed(struct target *target, int64_t now_ms);
