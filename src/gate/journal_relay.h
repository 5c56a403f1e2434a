/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdatomic.h>

#include "base/body.h"
#include "store/journaled.h"

/*
 * The courier delivers what the journals hold to Redis, one entry at a time,
 * as soon as Redis is back: those of its own worker, and those that dead
 * processes left.  It knows nothing of requests or executions.  The worker's
 * thread only.
 */
struct worker;

struct parcel; /* a journal on its way to be emptied */

struct courier {
	struct worker *worker;
	struct journal *own;
	struct parcel *adopted;
	bool adopts;     /* it looks for what dead processes left */
	atomic_bool unwritable; /* the log has it; /status shows it */

	/* What is being delivered. */
	struct journal *journal; /* NULL: nothing */
	uint64_t id;
	uint64_t after; /* what is tried later, with all before it; or 0 */
	struct body bytes;
	struct journal_entry entry;
	struct store_op op;
	struct timer timer;
	int64_t adopt_at_ms;
};

/*
 * The journal is the courier's now.  adopts: it also looks, now and then, for
 * journals whose process is gone; one worker of a process does.
 */
void courier_init(struct courier *courier, struct worker *worker,
    struct journal *journal, bool adopts);
/* Closes the journals; what is open in them is the next process'. */
void courier_end(struct courier *courier);

/* False: no new claim may be forwarded, its outcome could get lost. */
bool courier_can_write(struct courier *courier);
/*
 * Keeps an outcome that Redis did not take; true: it is on disk, and will be
 * delivered.
 */
MUST_USE bool courier_take(struct courier *courier, const struct held *held,
    const struct put_off *what);
/* Nothing of this process waits to be delivered. */
bool courier_is_done(const struct courier *courier);
