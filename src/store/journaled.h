/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/journal/journal_waiting.h"
#include "store/journal/journal_writer.h"
#include "store/types.h"

struct store;

/*
 * Between the store and the journal: writes an outcome that Redis did not take
 * to disk, and stores it from there when Redis is back.  It decides neither
 * whether nor when.  It compares claims with what waits meanwhile, which must
 * not be executed.  The store's thread.
 */

/* The outcome: a kind, and the arguments of the operation of that kind. */
struct journaled {
	enum journal_kind kind;
	const struct answer *answer; /* COMPLETE */
	bool sent, forget;           /* RELEASE */
	enum reason reason;          /* UNKNOWN */
};

/* Starts to write it, which ends as journal_writer_append does. */
void journaled_write(struct store *store, struct journal_writer *writer,
    struct journal_op *op, const struct held *held,
    const struct journaled *what);

/*
 * False while the server of the cluster that has that key is away: an entry of
 * it would be run in vain.
 */
bool journaled_can_run(const struct store *store, const struct key_id *key_id);
/*
 * Starts the operation that an entry stands for, which ends as any other; what
 * entry points to lives until then.
 */
void journaled_run(struct store *store, struct store_op *op,
    const struct journal_entry *entry);
/*
 * True: the operation's answer, which was no error, is the last word on the
 * entry.  A record that is damaged may be deleted, and made again with the
 * outcome.  A claim that is given back may yet be executed until its deadline;
 * an outcome that is fenced by the attempt after its own, or by one that was
 * made after Redis had forgotten its own, may be the truth, should nothing be
 * sent of that one.
 */
bool journaled_is_final(
    const struct store_op *op, const struct journal_entry *entry);

/*
 * From now on an outcome of that kind waits, first for the disk and then for
 * Redis: until it is delivered (journal_waiting_drop) or, where the disk has
 * not taken it, until it is not to be expected any more.
 */
void journaled_begin(const struct store *store,
    struct journal_waiting *waiting, const struct held *held,
    enum journal_kind kind);
void journaled_end(const struct store *store, struct journal_waiting *waiting,
    const struct held *held, enum journal_kind kind);

/*
 * True: this process knows an outcome of the claim's key, or a version of its
 * entity, that Redis may lack.
 */
bool journaled_awaits(const struct store *store,
    struct journal_waiting *waiting, const struct claim *claim);
