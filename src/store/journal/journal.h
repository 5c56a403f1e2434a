/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/body.h"
#include "store/journal/journal_entry.h"
#include "store/journal/journal_file.h"

/*
 * The journal: outcomes that Redis does not take stay on disk until it has
 * taken or fenced them, even when this process has ended.  A journal is one
 * file below state_dir/journal/, locked (flock) while its process lives; a file
 * whose lock is free is adopted by any other process, and removed when nothing
 * in it is open.  Entries are delivered at least once: scripts may be repeated.
 * Answers are in it as they will be in Redis, sealed where configured.  It
 * knows nothing of Redis, nor who delivers.  Its owner closes it.
 *
 * One thread at a time writes, syncs, looks at the disk and closes: what may
 * block (journal_writer.h).  Any thread may ask which entries are open, read
 * them and forget them meanwhile; which of them does, the owner decides.
 *
 * SIGXFSZ must be ignored, or a limit on file sizes ends the process.
 */
struct journal;

/*
 * Nulls the caller's pointer, accepts NULL.  Where nothing is open, the file is
 * removed; otherwise the next process can adopt it.
 */
void journal_close(struct journal **journal);

/* --- whoever writes --- */

/* Looks, at most once a second by now_us, without waiting for the disk. */
enum journal_look journal_look(struct journal *journal, int64_t now_us);
/* Writes something and waits until the disk has it; true: it is writable. */
bool journal_try(struct journal *journal);
/*
 * Whether an entry could be written now: looks, and tries where it has to.
 * False after a failed write, when the disk has less than 1 MiB left, and when
 * somebody removed the file.  now_us is a time of clock_us().
 */
bool journal_is_writable(struct journal *journal, int64_t now_us);

/* Why it is not writable, a message for the log; "" while it is. */
const char *journal_message(const struct journal *journal);

/*
 * Writes an entry, which is open once it is committed; *ret_id, from 1, names
 * it in this journal.  False: this entry is not kept, the others are, and
 * journal_message says why.
 */
MUST_USE bool journal_write(struct journal *journal,
    const struct journal_entry *entry, uint64_t *ret_id);
/*
 * Waits until the disk has all that was written (fdatasync).  False: it has
 * none of that, and journal_message says why.
 */
MUST_USE bool journal_commit(struct journal *journal);
/* Writes one entry and commits it. */
MUST_USE bool journal_append(struct journal *journal,
    const struct journal_entry *entry, uint64_t *ret_id);
/*
 * Notes on disk that this entry was forgotten; after a commit.  It does not
 * wait for the disk: after a crash the entry may be delivered once more.
 */
void journal_mark(struct journal *journal, uint64_t id);
/* Forgets and marks. */
void journal_finish(struct journal *journal, uint64_t id);

/* --- any thread --- */

/* Redis has taken or fenced this open entry; it is to be marked next. */
void journal_forget(struct journal *journal, uint64_t id);
/*
 * The same for one that cannot be read back.  From now on the file is evidence:
 * it is never emptied, and kept aside (journal_aside.h) instead of removed.
 */
void journal_spoil(struct journal *journal, uint64_t id);

/* The name of its file in the folder; lives as long as the journal. */
const char *journal_name(const struct journal *journal);

/* How many entries are open; and how many of them are for our store. */
unsigned journal_open_entries(const struct journal *journal);
unsigned journal_own_entries(
    const struct journal *journal, const struct origin *ours);

/*
 * The oldest open entry for our store (NULL: for any) that is newer than after
 * (0: the oldest of all); false: there is none.
 */
bool journal_next(const struct journal *journal, const struct origin *ours,
    uint64_t after, uint64_t *ret_id);
/* Whether it has an answer for that key of our store, also on its way. */
bool journal_has_answer(const struct journal *journal,
    const struct origin *ours, const struct key_id *key_id);

struct journal_about journal_about(const struct journal *journal, uint64_t id);

/*
 * Reads the answer for that key of our store as journal_read does, also while
 * another thread forgets it.  Besides: E_NOT_FOUND where there is none, or it
 * is on its way to the disk.
 */
MUST_USE int journal_read_answer(const struct journal *journal,
    const struct origin *ours, const struct key_id *key_id,
    struct body *bytes, struct journal_entry *ret_entry);
/*
 * Reads an open entry back into *bytes, whose content is replaced; the entry's
 * spans point into it.  0; E_NO_MEMORY where the budget of *bytes does not
 * allow it now; E_MALFORMED where the disk does not return what was written.
 */
MUST_USE int journal_read(const struct journal *journal, uint64_t id,
    struct body *bytes, struct journal_entry *ret_entry);
