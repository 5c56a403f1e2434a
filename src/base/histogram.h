/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/counter.h"

/*
 * Durations by the bucket that they fall into; the last one has what is
 * longer than all bounds.  bounds are in microseconds, from 100 µs to 60 s.
 */
enum { HISTOGRAM_BOUNDS = 18 };
extern const uint64_t histogram_bounds_us[HISTOGRAM_BOUNDS];

struct histogram {
	struct counter buckets[HISTOGRAM_BOUNDS + 1];
	struct counter sum_us;
};

/* The counting thread only; a negative duration counts as none. */
void histogram_add(struct histogram *histogram, int64_t us);
