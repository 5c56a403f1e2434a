/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "journal/journal.h"

/*
 * The inside of the journal, for journal.c, which knows one file, and
 * journal_folder.c, which knows the folder and the locks.
 */

/* Of a file's name.  Another format of the file will have another one. */
#define JOURNAL_ENDING ".journal1"

/* The journal of an open, locked file; takes both descriptors over. */
struct journal *journal_new(int folder, int file, const char *name);

/* What was wrong with a file. */
struct journal_damage {
	unsigned entries;   /* that are not what was written */
	uint64_t cut_bytes; /* a torn tail, or all behind a damaged head */
};

/*
 * Finds what is open in a file that another process wrote, and cuts what is
 * no entry off its end.  0, with *ret_damage set; or an errno: the file is as
 * it was, and the journal is only good to be given up.
 */
MUST_USE int journal_load(
    struct journal *journal, struct journal_damage *ret_damage);

/* As journal_close, but the file stays in any case. */
void journal_give_up(struct journal **journal);
