/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/body.h"
#include "journal/journal_entry.h"

/*
 * The journal: outcomes that Redis does not take stay on disk until it has
 * taken or fenced them, also after this process.  A journal is one file below
 * state_dir/journal/, locked (flock) while its process lives; a file whose
 * lock is free is adopted by whoever comes first, and removed when nothing in
 * it is open.  Entries are therefore delivered at least once: the steps of a
 * record may be repeated.  Answers stand in it as they will in Redis, sealed
 * where they are to be.  It knows nothing of Redis, nor who delivers.  A
 * journal belongs to one thread at a time; its owner closes it.
 *
 * SIGXFSZ must be ignored, or a limit on file sizes ends the process.
 */
struct journal;

/*
 * Nulls the caller's pointer, accepts NULL.  The file is removed where nothing
 * is open, and is the next process' to adopt otherwise.
 */
void journal_close(struct journal **journal);

/*
 * Whether an entry could be written now: asked before a claim is forwarded.
 * False after a write failed, when the disk is full but for a reserve, and
 * when somebody removed the file; looks at the disk once a second at most,
 * by now_us of clock_us().
 */
bool journal_is_writable(struct journal *journal, int64_t now_us);

/* Why it is not, for the log; "" while it is. */
const char *journal_message(const struct journal *journal);

/*
 * Writes an entry and waits until the disk has it; *ret_id (from 1) is its
 * name in this journal.  False: the entry is not kept, the others are, and
 * journal_message says why.
 */
MUST_USE bool journal_append(struct journal *journal,
    const struct journal_entry *entry, uint64_t *ret_id);

/*
 * Redis has taken or fenced this open entry.  Not waited for: one that is
 * forgotten in a crash is delivered once more.
 */
void journal_finish(struct journal *journal, uint64_t id);

/* The name of its file in the folder; it lives as long as the journal. */
const char *journal_name(const struct journal *journal);

/* How many entries are open. */
unsigned journal_open_entries(const struct journal *journal);

/*
 * The oldest open entry that is newer than the one named (0: the oldest);
 * false: there is none.
 */
bool journal_next(const struct journal *journal, uint64_t after,
    uint64_t *ret_id);

/*
 * Reads an open entry back into *bytes, whose earlier content goes; the
 * entry's spans point into it.  0; E_NO_MEMORY where the budget of *bytes does
 * not allow it now; E_MALFORMED where the disk does not give back what was
 * written.
 */
MUST_USE int journal_read(const struct journal *journal, uint64_t id,
    struct body *bytes, struct journal_entry *ret_entry);
