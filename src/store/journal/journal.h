/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/body.h"
#include "store/journal/journal_entry.h"

/*
 * The journal: outcomes that Redis does not take stay on disk until it has
 * taken or fenced them, even when this process has ended.  A journal is one
 * file below state_dir/journal/, locked (flock) while its process lives; a file
 * whose lock is free is adopted by any other process, and removed when nothing
 * in it is open.  Entries are delivered at least once: scripts may be repeated.
 * Answers are in it as they will be in Redis, sealed where configured.  It
 * knows nothing of Redis, nor who delivers.  Its owner closes it.
 *
 * One thread at a time writes, syncs, checks the disk and closes: what may
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

/* The disk must have as much as this left for a claim to be forwarded. */
enum { JOURNAL_RESERVE_BYTES = 1024 * 1024 };

enum journal_health {
	JOURNAL_WELL,
	JOURNAL_UNWELL,
	JOURNAL_TO_BE_TRIED, /* it was unwell, and may be well again */
};
/*
 * Checks, at most once a second by now_us, a time of clock_us(), whether the
 * file can be written, without waiting for the disk.  It is unwell when the
 * disk has less than 1 MiB left or does not say, and for a second after a
 * failed write or when somebody removed the file; then it is to be tried.
 */
enum journal_health journal_check(struct journal *journal, int64_t now_us);
/* Writes something and waits until the disk has it; true: it is writable. */
bool journal_try(struct journal *journal);
/* The reason why it is not writable, for the log; "" while it is. */
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
/*
 * Notes on disk that this entry was forgotten; after a commit.  It does not
 * wait for the disk: after a crash the entry may be delivered once more.
 */
void journal_mark(struct journal *journal, uint64_t id);

/* --- any thread --- */

/*
 * Redis has taken or fenced this open entry; it is to be marked next.  spoiled:
 * it cannot be read back, and from now on the file is evidence, which is never
 * emptied, and set aside instead of removed.
 */
void journal_forget(struct journal *journal, uint64_t id, bool spoiled);

/* The name of its file in the folder; lives as long as the journal. */
const char *journal_name(const struct journal *journal);

/* The number of entries that are open for our store (NULL: for any). */
unsigned journal_open_entries(
    struct journal *journal, const struct origin *ours);

/*
 * The oldest open entry for our store (NULL: for any) that is newer than after
 * (0: the oldest of all); false: there is none.  ret_about may be NULL.
 */
bool journal_next(struct journal *journal, const struct origin *ours,
    uint64_t after, uint64_t *ret_id, struct journal_about *ret_about);

/*
 * Reads the answer for that key of our store as journal_read does, also while
 * another thread forgets it.  Besides: E_NOT_FOUND where there is none, or it
 * is on its way to the disk.  bytes NULL: it is not read, and may be on its
 * way.
 */
MUST_USE int journal_read_answer(struct journal *journal,
    const struct origin *ours, const struct key_id *key_id,
    struct body *bytes, struct journal_entry *ret_entry);
/*
 * Reads an open entry back into *bytes, whose content is replaced; the entry's
 * spans point into it.  0; E_NO_MEMORY where the budget of *bytes does not
 * allow it now; E_MALFORMED where the disk does not return what was written.
 */
MUST_USE int journal_read(struct journal *journal, uint64_t id,
    struct body *bytes, struct journal_entry *ret_entry);

/* --- the file itself, for journal_folder.c --- */

/* The ending of a file's name says its format. */
#define JOURNAL_1_ENDING ".journal1"
#define JOURNAL_ENDING ".journal2"
/* It follows the name of a damaged file that was set aside. */
#define JOURNAL_ASIDE ".damaged-"

/* The format by the name's ending; false: it is no journal. */
bool journal_format_of(const char *name, enum journal_format *ret_format);

/*
 * The journal of an open, locked file, which it owns from now on; of the folder
 * it has a descriptor of its own.  NULL with errno: there is none left.
 */
struct journal *journal_new(int folder, int file, const char *name);

/* The damage that was found in a file. */
struct journal_damage {
	unsigned entries;    /* whose payload is damaged */
	uint64_t lost_bytes; /* a torn tail, and what has a damaged head */
};

/*
 * Finds the open entries of a file that another process wrote, which stays as
 * it was.  0, with *ret_damage set; or an errno: the journal can only be given
 * up.  Nothing may be written to a journal with damage.
 */
MUST_USE int journal_load(
    struct journal *journal, struct journal_damage *ret_damage);

/* As journal_close, but the file stays in any case. */
void journal_give_up(struct journal **journal);

/*
 * Renames a damaged file in the folder to NAME.damaged-N, for somebody to
 * examine: nothing reads it again, and nothing removes it.  The new name, which
 * the caller frees; NULL with errno: it has its old one.  The caller has the
 * file's lock.
 */
char *journal_set_aside(int folder, const char *name);
