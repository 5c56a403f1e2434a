/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/list.h"
#include "store/journal/journal.h"

struct journal_awaited;

/*
 * The folder of journals below state_dir, and the locks on its files: which
 * journal is whose, and which are nobody's any more.  It knows nothing of what
 * is in a file (journal.c).  Any thread that may block.
 */

/*
 * Makes a new, empty journal, its file (0600) and, where missing, its folder
 * (0700), so that a state_dir that cannot be written is found at the start.
 * worker is only part of the file's name.  The caller closes *ret_journal.
 * False: *ret_message is a sentence that the caller frees.
 */
MUST_USE bool journal_folder_open(const char *state_dir, unsigned worker,
    struct journal **ret_journal, char **ret_message);

/* A file that a dead process left behind, and what was found in it. */
struct journal_found {
	struct list link;
	char *name; /* in the folder */
	/*
	 * Has at least one open entry for our store, and is the caller's now,
	 * to deliver and to close.  NULL: nothing was open, and the file is
	 * removed; or see foreign and error.
	 */
	struct journal *journal;
	unsigned foreign; /* it stays, with so many entries of other stores */
	unsigned damaged; /* entries that are not what was written */
	uint64_t lost_bytes; /* a torn tail, and what has a damaged head */
	char *aside; /* what the damaged file is called now; or NULL */
	/* An errno: it cannot be read now, and stays for a later try; or 0. */
	int error;
};

/* A file that was examined and stays; see struct journal_folder. */
struct journal_left;

/*
 * It has what is known of the folder from the last search; zeros before the
 * first, but for awaited.  A member of whoever adopts, one thread at a time.
 */
struct journal_folder {
	/* NULL: our store's id is always known. */
	struct journal_awaited *awaited;
	uint64_t search; /* its number, from 1 */
	struct journal_left *left; /* so that each is reported once */
	struct origin ours;        /* as of the last search */
	uint64_t foreign;          /* entries of other stores */
	unsigned aside;            /* damaged files (journal_set_aside) */
	/* As of journal_folder_adopt, while that runs: */
	int fd;
	bool settled;
	struct list *found;
};

/*
 * Adopts every file whose process is gone and that has entries for our store;
 * one that has none stays where it is, without a lock.  Adds each file that it
 * finds to the list of struct journal_found, and only once where that stays as
 * it was; the caller frees them.  settled: our store's id is known, or will not
 * be; until then nothing is reported of entries that may yet be ours, and they
 * are added to awaited.  False where the folder cannot be read: *ret_message as
 * above.
 *
 * Of a file with damage, the entries that are whole are copied into a new one,
 * and then it is set aside.
 */
MUST_USE bool journal_folder_adopt(struct journal_folder *folder,
    const char *state_dir, const struct origin *ours, bool settled,
    struct list *found, char **ret_message);
/* Takes it off its list; its journal stays.  Nulls the caller's pointer. */
void journal_folder_found_free(struct journal_found **found);
/*
 * Forgets the files that a search has not met, and counts what is in the rest;
 * outside of a search, all is forgotten.
 */
void journal_folder_forget(struct journal_folder *folder);

/*
 * The journals below a state_dir, counted from outside of the processes that
 * write them.  That takes no lock and changes nothing, so the result is only
 * how things were at that time.
 */
struct journal_survey {
	uint64_t entries; /* outcomes that wait for our store to take them */
	uint64_t foreign; /* and those for other stores */
	uint64_t aside;   /* damaged files (journal_set_aside) */
	/* The name of one file each, for free(); NULL: there is none. */
	char *file;
	char *foreign_file;
	char *aside_file;
};

/*
 * All zeros where there is no folder yet.  False: the folder or a file cannot
 * be read, and errno says why.
 */
MUST_USE bool journal_folder_survey(const char *state_dir,
    const struct origin *ours, struct journal_survey *ret_survey);
