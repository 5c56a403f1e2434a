/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/body.h"
#include "base/histogram.h"
#include "base/must.h"

/*
 * Samples in Prometheus' text format (0.0.4), appended to a body without a
 * budget.  It knows nothing of what is measured.  Main thread.
 */
struct metrics_text {
	struct body *out;
	const char *name; /* of the metric */
};

void metrics_text(struct metrics_text *text, const char *fmt, ...)
    PRINTF_LIKE(2, 3);

/* A sample without a label, with one, and with two. */
void metrics_text_value(struct metrics_text *text, uint64_t value);
void metrics_text_of(struct metrics_text *text, const char *label,
    const char *of, uint64_t value);
void metrics_text_of_two(struct metrics_text *text, const char *label,
    const char *of, const char *label_2, const char *of_2, uint64_t value);
/* The end of a sample: microseconds as seconds. */
void metrics_text_seconds(struct metrics_text *text, uint64_t us);

/* Histograms that are added up: their buckets, and the sum. */
struct metrics_gathered {
	uint64_t buckets[HISTOGRAM_BOUNDS + 1];
	uint64_t sum;
};
void metrics_text_gather(
    struct metrics_gathered *to, const struct histogram *from);
/* unit_us: what it counts, 1 µs mostly; bounds and sum are shown in seconds. */
void metrics_text_histogram(struct metrics_text *text, const char *label,
    const char *of, const struct metrics_gathered *h, uint64_t unit_us);
