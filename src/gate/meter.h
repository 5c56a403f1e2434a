/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/histogram.h"
#include "store/store.h"

/*
 * A meter has the counters of one worker, for GET /metrics
 * (admin/admin_metrics.h).  The worker's thread counts; the admin interface
 * reads at any time.  Series of routes and upstreams go by their names, so that
 * they go on over a reload; they are only ever added.  It knows nothing of what
 * they mean.
 */

enum {
	METER_OUTCOMES = 32, /* of tbl/outcomes.h, at most */
	METER_OBSERVED = 16, /* of tbl/observed.h */
	METER_CLASSES = 5,
	METER_ASKERS = 3, /* a request, the sweep, operators */
	METER_ANSWERS = 4, /* of enum asked (gate/execution.h) */
};

struct series {
	struct series *_Atomic next;
	char *name;
	struct counter outcomes[METER_OUTCOMES]; /* of a route */
	struct counter observed[METER_OBSERVED]; /* the same */
	struct counter classes[METER_CLASSES];   /* the same; from 1xx on */
	/* What was asked about unknown outcomes; the same. */
	struct counter asked[METER_ASKERS * METER_ANSWERS];
	struct histogram seconds;
	struct counter up; /* of a target: a gauge */
};

struct meter {
	struct series *_Atomic routes;
	struct series *_Atomic upstreams;
	struct series *_Atomic targets; /* "UPSTREAM\nURL" */
	struct series *no_route; /* the one called "-" */
	struct histogram store[SCRIPT_COUNT_];
	struct counter journal_entries; /* a gauge, as the next three */
	struct counter journal_broken;  /* whose records are damaged */
	struct counter journal_foreign; /* entries for other stores */
	struct counter journal_aside;   /* damaged files */
	struct counter cache_bytes; /* a gauge (gate/cache.h) */
	struct counter cache_hits;
	struct counter waiting; /* a gauge (gate/key_waiters.h) */
	struct counter fenced;
	struct counter leases_lost;
	struct counter connections; /* a gauge: to upstreams */
};

void meter_init(struct meter *meter);
/* Frees the series: nobody may read any more. */
void meter_clear(struct meter *meter);
/* Finds or makes the series of that name in one of the meter's lists. */
struct series *meter_series(struct series *_Atomic *list, const char *name);
