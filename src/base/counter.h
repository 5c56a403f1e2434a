/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

/*
 * Numbers that one thread counts and others may read at any time: a count
 * costs a load and a store, and no lock.  It knows nothing of what is
 * counted, nor of how it is shown.
 */
struct counter {
	_Atomic uint64_t count;
};

/* Any thread. */
static inline uint64_t
counter_read(const struct counter *counter)
{
	return atomic_load_explicit(&counter->count, memory_order_relaxed);
}

/* The counting thread only. */
static inline void
counter_set(struct counter *counter, uint64_t now)
{
	atomic_store_explicit(&counter->count, now, memory_order_relaxed);
}

static inline void
counter_add(struct counter *counter, uint64_t more)
{
	counter_set(counter, counter_read(counter) + more);
}
