/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/loop.h"
#include "gate/lease.h"
#include "store/store.h"

/*
 * The leases of the claims that a worker owns: renewed in batches a third of
 * the way to their end, for as long as the execution lives, however long the
 * upstream takes.  It decides nothing when one is lost: fencing does, and what
 * was not sent by then is not sent any more (forward_limits).  The worker's
 * thread only.
 */
struct worker;

struct leases {
	struct worker *worker;
	struct timer timer;
	struct store_op renewing;
	struct renewal *renewals; /* of the batch under way */
	size_t count;
};

/* From now on the leases of that worker's executions are renewed. */
void lease_renewal_start(struct leases *leases, struct worker *worker);
/* Nothing is renewed any more. */
void lease_renewal_stop(struct leases *leases);
/*
 * A claim was made just now, and asked for at asked_us (clock_us): its lease is
 * renewed from here on.
 */
void lease_renewal_begin(struct leases *leases, struct lease *lease,
    int64_t asked_us, int64_t lease_ms);
