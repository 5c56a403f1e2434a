/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/body.h"
#include "base/histogram.h"
#include "store/store.h"

/*
 * The text of GET /metrics (Prometheus' exposition format 0.0.4), gathered
 * from all workers without stopping any.  It knows nothing of who asks.  Main
 * thread.
 */
struct conf;
struct worker;

/* What it reads. */
struct admin_metrics_source {
	struct worker *const *workers;
	int64_t n_workers;
	const struct store *store; /* whose operations are operators' */
	const struct histogram *store_took; /* of these: store_measure */
	const struct counter *spun; /* connections of operators */
	const uint64_t *reloads; /* refused, and adopted */
	const struct conf *conf; /* of the last that was adopted */
	const uint64_t *records; /* by their states; NULL: not known */
	int64_t started_ms;      /* since 1970 */
};

/* Appends the text to a body without a budget. */
void admin_metrics_write(
    const struct admin_metrics_source *from, struct body *out);
