/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "journal/journal.h"
#include "store/types.h"

struct store;

/*
 * Between the store and the journal: an outcome that Redis did not take goes
 * to disk, and from there to Redis once it is back.  It decides neither when
 * nor whether.  The store's thread.
 */

/* What is put off: a kind, and what the verb of that kind takes. */
struct journaled {
	enum journal_kind kind;
	const struct answer *answer; /* COMPLETE */
	bool sent;                   /* RELEASE */
	enum reason reason;          /* UNKNOWN */
};

/* Waits for the disk; false: it is not there (journal_message says why). */
MUST_USE bool journaled_write(struct store *store, struct journal *journal,
    const struct held *held, const struct journaled *what);

/* Runs the step that an entry stands for; ends as that verb does. */
void journaled_run(struct store *store, struct store_op *op,
    const struct journal_entry *entry);
