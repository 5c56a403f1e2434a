/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/list.h"
#include "base/loop/loop.h"
#include "base/loop/op.h"
#include "store/journal/journal.h"

/*
 * Writes to journals without blocking the loop: whatever may wait for the disk
 * is done by another thread (loop/work.h), one batch after the other.  A batch
 * is what came while the one before was on its way, and its entries share one
 * fdatasync.  It knows nothing of Redis, nor of who delivers.  The loop's
 * thread only; a member of its owner, which closes the journals after it.
 */
struct journal_item;

struct journal_writer {
	struct loop *loop;
	struct journal *journal;
	void (*written)(void *arg, bool failed);
	void *arg;
	struct list queue; /* items for the next batch, in order */
	struct task task;    /* begins with a batch */
	/* Items; the other thread has them while there is work. */
	struct list batch;
	struct work *work; /* NULL: there is none */
	bool writable;     /* as of the last check */
};

/* An entry on its way to the disk: a member of whatever waits for it. */
struct journal_op {
	/* Ends with 0: the disk has it; or E_JOURNAL: it has not. */
	struct op op;
	struct journal_item *item; /* the writer's own */
};

/*
 * For the journal, which nobody else writes to from now on.  written(arg) is
 * called after each batch; failed: the journal did not take an entry, or is not
 * writable (journal_message says why, within this call).
 */
void journal_writer_init(struct journal_writer *writer, struct loop *loop,
    struct journal *journal, void (*written)(void *arg, bool failed),
    void *arg);
/* Waits until everything that it was given is on disk. */
void journal_writer_end(struct journal_writer *writer);

/*
 * True where an entry could be written now; asked before a claim is forwarded.
 * What is not writable is tried again, about once a second, while somebody
 * asks.  now_us is a time of clock_us().
 */
bool journal_writer_is_writable(struct journal_writer *writer, int64_t now_us);
/* Starts to write an entry, which is copied. */
void journal_writer_append(struct journal_writer *writer,
    struct journal_op *op, const struct journal_entry *entry);
/*
 * This open entry of any journal is forgotten at once (journal_forget), and
 * marked later.
 */
void journal_writer_finish(struct journal_writer *writer,
    struct journal *journal, uint64_t id, bool spoiled);
/* Closes a journal later, and nulls the caller's pointer. */
void journal_writer_close(
    struct journal_writer *writer, struct journal **journal);
