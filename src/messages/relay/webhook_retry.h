/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/field.h"
#include "base/must.h"

#include <stdint.h>

/*
 * When a webhook is tried again: after 1 s, then twice as long each time, up to
 * 1 h, with jitter; later where the receiver says so (Retry-After); for three
 * days.  Pure; any thread.
 */
enum {
	WEBHOOK_RETRY_FIRST_MS = 1000,
	WEBHOOK_RETRY_MOST_MS = 3600 * 1000,
	WEBHOOK_RETRY_LAST_MS = 3 * 24 * 3600 * 1000,
};

/*
 * How long until the next try, in ms, from 1: tries have failed (1 or more),
 * the event has been kept for age_ms, after_ms is Retry-After (0: none) and
 * chance is any number.  False: it is given up.  The last try is at the end of
 * the three days.
 */
MUST_USE bool webhook_retry_next(unsigned tries, int64_t age_ms,
    int64_t after_ms, uint32_t chance, int64_t *ret_ms);
