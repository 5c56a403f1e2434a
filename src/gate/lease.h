/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The lease of a claim that is ours: a member of the execution that owns the
 * claim, renewed by gate/lease_renewal.h.  The worker's thread only.
 */
struct lease {
	int64_t renew_at_ms; /* by the loop's clock */
	/*
	 * By clock_us: until then the claim is surely ours, since nobody asked
	 * for it later than that less a lease.
	 */
	int64_t until_us;
	size_t renewing; /* its place in the batch under way, from 1; or 0 */
};

/* The claim was made, or made once more, as asked for at asked_us. */
static inline void
lease_extend(struct lease *lease, int64_t asked_us, int64_t lease_ms)
{
	lease->until_us = asked_us + lease_ms * 1000;
}
