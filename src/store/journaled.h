/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "journal/journal.h"
#include "store/types.h"

struct store;

/*
 * Between the store and the journal: writes an outcome that Redis did not take
 * to disk, and stores it from there when Redis is back.  It decides neither
 * whether nor when.  The store's thread.
 */

/* The outcome: a kind, and the arguments of the operation of that kind. */
struct journaled {
	enum journal_kind kind;
	const struct answer *answer; /* COMPLETE */
	bool sent;                   /* RELEASE */
	enum reason reason;          /* UNKNOWN */
};

/*
 * Writes it, and waits until the disk has it; false: the journal does not have
 * it (journal_message says why).
 */
MUST_USE bool journaled_write(struct store *store, struct journal *journal,
    const struct held *held, const struct journaled *what);

/*
 * Starts the operation that an entry stands for, which ends as any other; entry
 * need not outlive this call.
 */
void journaled_run(struct store *store, struct store_op *op,
    const struct journal_entry *entry);
