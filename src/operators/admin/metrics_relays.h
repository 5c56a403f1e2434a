/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/worker.h"
#include "operators/admin/metrics_text.h"

/*
 * The samples of relays, of all workers, as GET /metrics shows them: one
 * function for each metric of tbl/metrics.h.  Main thread.
 */
struct metrics_relays {
	struct metrics_text *text;
	struct worker *const *workers;
	int64_t n_workers;
};

/* The head of the function of that metric. */
#define METRICS_RELAYS(id)                                                    \
	void metrics_relays_##id(const struct metrics_relays *all)

METRICS_RELAYS(RELAY_EVENTS);
METRICS_RELAYS(RELAY_LAG);
METRICS_RELAYS(RELAY_LOST);
METRICS_RELAYS(RELAY_UP);
