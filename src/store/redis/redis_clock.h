/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Tells the time of Redis' clock by our own (clock_us): a reply that says "it
 * is T" was made after we sent the command and before we had the reply.  So T
 * less our time of receipt is the least that the two clocks can be apart, and T
 * less our time of sending is the most.  Pure; one thread.
 */
struct redis_clock {
	bool known;
	int64_t apart_us;      /* Redis' clock less ours, at least … */
	int64_t apart_most_us; /* … and at most */
	/* When it was last seen to have jumped ahead (clock_us); 0: never. */
	int64_t jumped_us;
};

/* By so much it jumps; clocks are apart by less in any case. */
#define REDIS_CLOCK_JUMP_US INT64_C(1000000)

/* Thirteen digits, as a record has them: what is beyond is no time. */
#define REDIS_CLOCK_MAX_MS INT64_C(9999999999999)

/*
 * A reply said that it was redis_ms, from 0 to the latest time that there is.
 * The greatest of all lower bounds and the least of all upper ones are the
 * best, until a reply contradicts them (a clock was set).
 */
static inline void
redis_clock_heard(struct redis_clock *clock, int64_t redis_ms, int64_t sent_us,
    int64_t received_us)
{
	int64_t least_us = redis_ms * 1000 - received_us;
	int64_t most_us = (redis_ms + 1) * 1000 - sent_us;
	bool agrees = clock->known && least_us <= clock->apart_most_us &&
	    most_us >= clock->apart_us;
	if (clock->known &&
	    least_us > clock->apart_most_us + REDIS_CLOCK_JUMP_US)
		clock->jumped_us = received_us;
	if (!agrees || least_us > clock->apart_us)
		clock->apart_us = least_us;
	if (!agrees || most_us < clock->apart_most_us)
		clock->apart_most_us = most_us;
	clock->known = true;
}

/*
 * The least that Redis' clock shows when ours shows us; only where the clock is
 * known, as the next.
 */
static inline int64_t
redis_clock_ms(const struct redis_clock *clock, int64_t us)
{
	return (us + clock->apart_us) / 1000;
}

/* The most that it shows. */
static inline int64_t
redis_clock_latest_ms(const struct redis_clock *clock, int64_t us)
{
	return (us + clock->apart_most_us + 999) / 1000;
}
