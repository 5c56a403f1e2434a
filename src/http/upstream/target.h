/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "http/upstream/dialler.h"
#include "http/upstream/pool.h"

/*
 * A target of an upstream, with its idle connections.  One that could not be
 * reached is down for a while, 1 s at first and up to 10 s.  It knows nothing
 * of messages.  The worker's thread only.
 */
struct target {
	const struct conf_target *conf;
	struct dialler dialler;
	struct pool pool;
	int64_t down_until_ms; /* of the loop's clock */
	int64_t down_ms;       /* how long the last time; 0: it was reached */
	bool out; /* it says that it is not well (target_health.h) */
	struct counter *up;    /* a gauge, 1 or 0; NULL: nobody asks */
};

/* Those of one upstream. */
struct target_list {
	struct target *list;
	size_t count;
	size_t turn; /* where the next round begins */
};

void target_list_init(struct target_list *targets, struct connector *connector,
    struct loop *loop, const struct conf_upstream *upstream);
/* Closes what is idle; no connection is in use. */
void target_list_end(struct target_list *targets);

/* From now on that gauge says whether it is up; it outlives the target. */
void target_show(struct target *target, struct counter *up);
/* What it has said of itself. */
void target_judge(struct target *target, bool out);
/* A connection to it was made. */
void target_reached(struct target *target);
/* None could be made: it is down for a while. */
void target_failed(struct target *target, int64_t now_ms);
