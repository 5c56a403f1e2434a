/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/list.h"
#include "base/loop/loop.h"
#include "store/leases.h"
#include "store/store.h"

/*
 * The leases of the claims that a worker owns are renewed in batches, each a
 * third of the way to its end, for as long as their owners live, however long
 * the upstream takes.  When one is lost nothing is decided here: fencing does
 * that, and a request that was not sent by then is not sent any more
 * (forward_limits).  Nothing here knows who the owners are.  The worker's
 * thread only.
 */
struct lease;

/* The functions of a lease's owner. */
struct lease_owner {
	/* True while the claim is being ended: then it is not renewed. */
	bool (*is_ending)(struct lease *lease);
	/* Called when the claim is another's, or gone. */
	void (*on_lost)(struct lease *lease);
};

/* A member of its owner, who removes item from its list at the end. */
struct lease {
	struct list item;
	const struct lease_owner *owner;
	const struct owned_claim *owned; /* a member of the same owner */
	int64_t renew_at_ms;     /* by the loop's clock */
	/*
	 * By clock_us: until then the claim is surely ours, since nobody asked
	 * for it later than that less a lease.
	 */
	int64_t until_us;
	size_t renewing; /* its number in the batch under way, from 1; or 0 */
};

struct leases {
	struct list list;
	struct loop *loop;
	struct store *store;
	struct timer timer;
	struct store_op renewal;
	struct renewal *batch; /* under way */
	size_t count;          /* of them */
};

void lease_init(
    struct leases *leases, struct loop *loop, struct store *store);
/* Stops renewing. */
void lease_clear(struct leases *leases);
/*
 * Renews, from now on, the lease of a claim that was made just now, and asked
 * for at asked_us (clock_us).
 */
void lease_begin(struct leases *leases, struct lease *lease,
    const struct lease_owner *owner, const struct owned_claim *owned,
    int64_t asked_us);
/* The claim was made once more, and asked for at asked_us. */
static inline void
lease_extend(struct lease *lease, int64_t asked_us)
{
	lease->until_us = asked_us + lease->owned->policy->lease_ms * 1000;
}
