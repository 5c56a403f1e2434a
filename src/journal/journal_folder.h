/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "journal/journal.h"

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
	const char *name; /* in the folder */
	/*
	 * Has at least one open entry, and is each()'s now, to deliver and to
	 * close.  NULL: nothing was open, and the file is removed; or see
	 * error.
	 */
	struct journal *journal;
	unsigned damaged;   /* entries that are not what was written */
	uint64_t cut_bytes; /* a torn tail, or all behind a damaged head */
	/* An errno: it cannot be read now, and stays for a later try; or 0. */
	int error;
};

/*
 * Adopts every file whose process is gone, and calls each() with it; its name
 * lives as long as that call.  False where the folder cannot be read:
 * *ret_message as above.
 */
MUST_USE bool journal_folder_adopt(const char *state_dir,
    void (*each)(void *arg, const struct journal_found *found), void *arg,
    char **ret_message);
