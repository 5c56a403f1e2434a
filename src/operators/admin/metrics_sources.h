/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/admin/metrics_text.h"

/*
 * The samples of sources, of all workers, as GET /metrics shows them: one
 * function for each metric.  A source goes by its name, also where it was read
 * from another broker before a reload.  It stops no worker.  Main thread.
 */
struct worker;

struct metrics_sources {
	struct metrics_text *text;
	struct worker *const *workers;
	int64_t n_workers;
};

/* The head of the function of that metric. */
#define METRICS_SOURCES(id)                                                   \
	void metrics_sources_##id(const struct metrics_sources *all)

METRICS_SOURCES(MESSAGES);
METRICS_SOURCES(MESSAGE_SECONDS);
METRICS_SOURCES(MESSAGE_AGE);
METRICS_SOURCES(SOURCE_IN_FLIGHT);
METRICS_SOURCES(SOURCE_HELD);
METRICS_SOURCES(SOURCE_PARKED);
METRICS_SOURCES(SOURCE_RETRYING);
METRICS_SOURCES(SOURCE_LAG);
METRICS_SOURCES(SOURCE_GAP);
METRICS_SOURCES(SOURCE_STANDING);
METRICS_SOURCES(SOURCE_PARTS_STANDING);
METRICS_SOURCES(SOURCE_LOST);
METRICS_SOURCES(SOURCE_REBALANCES);
METRICS_SOURCES(DEAD_LETTERS);
METRICS_SOURCES(RESULTS);
METRICS_SOURCES(TRANSACTIONS);
METRICS_SOURCES(BROKER_UP);
