/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "journal/journal_folder.h"

/*
 * The inside of the journal, for journal.c, which knows one file, and
 * journal_folder.c, which knows the folder and the locks.
 */

/* Of a file's name.  Another format of the file will have another one. */
#define JOURNAL_ENDING ".journal1"

/* The journal of an open, locked file; takes both descriptors over. */
struct journal *journal_new(int folder, int file, const char *name);

/*
 * Finds what is open in a file that another process wrote, and cuts what is
 * no record off its end.  0, with damaged and cut_bytes set; or an errno: the
 * file is as it was, and the journal is only good to be given up.
 */
MUST_USE int journal_load(
    struct journal *journal, struct journal_found *found);

/* As journal_close, but the file stays in any case. */
void journal_give_up(struct journal **journal);
