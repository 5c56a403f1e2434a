/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/journal/journal.h"

/*
 * What the files of the journal share: journal.c knows one file,
 * journal_folder.c the folder and the locks, journal_survey.c only looks.
 */

/* Of a file's name; each format has its own. */
#define JOURNAL_1_ENDING ".journal1"
#define JOURNAL_ENDING ".journal2"

/* The format by the name's ending; false: it is no journal. */
bool journal_format_of(const char *name, enum journal_format *ret_format);

/* The journal of an open, locked file; owns both descriptors from now on. */
struct journal *journal_new(int folder, int file, const char *name);

/* What was wrong with a file. */
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
