/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdatomic.h>

#include "base/body.h"
#include "store/journaled.h"

/*
 * The relay delivers what the journals hold to Redis, one entry at a time,
 * as soon as Redis is back: those of its own worker, and those that dead
 * processes left.  It knows nothing of requests or executions.  The worker's
 * thread only.
 */
struct worker;

struct adopted_journal; /* a journal on its way to be emptied */

struct journal_relay {
	struct worker *worker;
	struct journal *own;
	struct adopted_journal *adopted;
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
 * The journal is the relay's now.  adopts: it also looks, now and then, for
 * journals whose process is gone; one worker of a process does.
 */
void journal_relay_init(struct journal_relay *relay, struct worker *worker,
    struct journal *journal, bool adopts);
/* Closes the journals; what is open in them is the next process'. */
void journal_relay_end(struct journal_relay *relay);

/* False: no new claim may be forwarded, its outcome could get lost. */
bool journal_relay_can_write(struct journal_relay *relay);
/*
 * Keeps an outcome that Redis did not take; true: it is on disk, and will be
 * delivered.
 */
MUST_USE bool journal_relay_take(struct journal_relay *relay,
    const struct held *held, const struct journaled *what);
/* Nothing of this process waits to be delivered. */
bool journal_relay_is_done(const struct journal_relay *relay);
