/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

/*
 * Places are the connections that clients may have open at once, all fronts
 * that share them together (limits.connections).  They know nothing of what a
 * connection is.  Any thread; whoever made them outlives the fronts.
 */
struct places {
	atomic_uint taken;
	unsigned most;
	/*
	 * For few clients, who must always find one: descriptors of the reserve
	 * are for them too, and who is idle makes way.
	 */
	bool reserved;
};

/* False: all are taken. */
static inline bool
places_take(struct places *places)
{
	unsigned before = atomic_fetch_add_explicit(
	    &places->taken, 1, memory_order_relaxed);
	if (before < places->most)
		return true;
	atomic_fetch_sub_explicit(&places->taken, 1, memory_order_relaxed);
	return false;
}

static inline void
places_give(struct places *places)
{
	atomic_fetch_sub_explicit(&places->taken, 1, memory_order_relaxed);
}
