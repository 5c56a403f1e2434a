/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdatomic.h>

#include "base/body.h"
#include "record/key_set.h"
#include "store/journaled.h"

/*
 * The relay delivers what the journals hold to Redis as soon as Redis is back:
 * the entries of its own worker, and those that dead processes left; one after
 * the other, and one large one beside them, so that it holds up nothing small.
 * It knows nothing of requests or executions.  The worker's
 * thread only.
 */
struct worker;

struct adopted_journal; /* a journal on its way to be emptied */

/* An entry that is being delivered. */
struct journal_delivery {
	struct journal_relay *relay;
	struct journal *journal;
	uint64_t id;
	struct body bytes;
	struct journal_entry entry;
	struct store_op op;
};

struct journal_relay {
	struct worker *worker;
	struct journal *own;
	struct adopted_journal *adopted;
	bool adopts;     /* it looks for what dead processes left */
	atomic_bool unwritable; /* the log has it; /status shows it */

	struct journal_delivery small, large;
	/*
	 * The pass: from the oldest entry to the newest.  What cannot be
	 * delivered now is passed over, and with it all of its key behind it,
	 * until the next pass.
	 */
	struct journal *journal; /* how far it has come: this journal … */
	uint64_t after;          /* … and entry; 0: it begins */
	struct key_set passed_over; /* keys */
	/* Keys of large ones that failed, until the others had their turn. */
	struct key_set failed_large;
	unsigned failures; /* in a row */
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
