/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/histogram.h"

const uint64_t histogram_bounds_us[HISTOGRAM_BOUNDS] = {100, 250, 500, 1000,
    2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000,
    5000000, 10000000, 30000000, 60000000};

void
histogram_add(struct histogram *histogram, int64_t us)
{
	uint64_t took = us > 0 ? (uint64_t)us : 0;
	int i = 0;
	while (i < HISTOGRAM_BOUNDS && took > histogram_bounds_us[i])
		i++;
	counter_add(&histogram->buckets[i], 1);
	counter_add(&histogram->sum_us, took);
}
