/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/counter.h"

/*
 * What is counted of a relay, for GET /metrics.  Its worker's thread counts;
 * the admin interface reads at any time.  A series goes by the relay's name, so
 * that it goes on over a reload; series are only ever added.
 */
struct relay_meter {
	struct relay_meter *_Atomic next;
	char *name;
	struct counter events; /* that were brought */
	struct counter lost;
	/* Gauges: */
	struct counter lag; /* events that are still to be brought */
	struct counter up;
	struct counter runs; /* here, now; else those two mean nothing */
};

struct relay_meters {
	struct relay_meter *_Atomic first;
};

/* Finds or makes the series of that name; its worker's thread, or before it. */
struct relay_meter *relay_meter_of(
    struct relay_meters *meters, const char *name);
/* Nobody may read any more. */
void relay_meter_clear(struct relay_meters *meters);
