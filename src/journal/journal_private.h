/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "journal/journal.h"

/*
 * What the files of the journal share: journal.c knows one file,
 * journal_folder.c the folder and the locks, journal_count.c only looks.
 */

/* Of a file's name; another format of the file gets another ending. */
#define JOURNAL_ENDING ".journal1"

/* The journal of an open, locked file; owns both descriptors from now on. */
struct journal *journal_new(int folder, int file, const char *name);

/* What was wrong with a file. */
struct journal_damage {
	unsigned entries;   /* whose payload is damaged */
	uint64_t cut_bytes; /* a torn tail, or all behind a damaged head */
};

/*
 * Finds the open entries of a file that another process wrote, and cuts off its
 * end what is no record.  0, with *ret_damage set; or an errno: the file is as
 * it was, and the journal can only be given up.
 */
MUST_USE int journal_load(
    struct journal *journal, struct journal_damage *ret_damage);

/* As journal_close, but the file stays in any case. */
void journal_give_up(struct journal **journal);
