/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/loop/clock.h"

/*
 * What clients may bring about as often as they like is said in the log at most
 * every ten seconds, with how often it was since the last time.
 */
struct log_rate {
	int64_t count; /* that the log has not heard of */
	int64_t at_us; /* when it last has; 0: never */
};

/* One more; true where the log is to hear of *ret_count now. */
static inline bool
log_rate_is_due(struct log_rate *rate, int64_t *ret_count)
{
	int64_t now_us = clock_us();
	*ret_count = ++rate->count;
	if (rate->at_us != 0 && now_us - rate->at_us < 10 * 1000 * 1000)
		return false;
	*rate = (struct log_rate){0, now_us};
	return true;
}
