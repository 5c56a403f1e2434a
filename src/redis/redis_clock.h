/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * What Redis' clock shows, estimated from our own (clock_us), and never ahead
 * of it: a reply that says "it is T" was made after we sent the command and
 * before we had the reply.  So T less our time of receipt is the least that the
 * two clocks can be apart, and T less our time of sending is the most.  Pure;
 * one thread.
 */
struct redis_clock {
	bool known;
	int64_t apart_us; /* Redis' clock less ours, at least */
};

/*
 * A reply said that it was redis_ms.  The greatest of all lower bounds is the
 * best estimate, until a reply contradicts it (a clock was set back).
 */
static inline void
redis_clock_heard(struct redis_clock *clock, int64_t redis_ms, int64_t sent_us,
    int64_t received_us)
{
	int64_t least_us = redis_ms * 1000 - received_us;
	int64_t most_us = (redis_ms + 1) * 1000 - sent_us;
	if (!clock->known || least_us > clock->apart_us ||
	    clock->apart_us > most_us)
		clock->apart_us = least_us;
	clock->known = true;
}

/*
 * What Redis' clock shows when ours shows us, or a little less; only where the
 * clock is known.
 */
static inline int64_t
redis_clock_ms(const struct redis_clock *clock, int64_t us)
{
	return (us + clock->apart_us) / 1000;
}
