/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/journal/journal.h"

/*
 * Looks at the journals below a state_dir, from outside of the processes that
 * write them.  It takes no lock and changes nothing, so the result is only how
 * things were when it looked.  Any thread that may block.
 */
struct journal_survey {
	uint64_t entries; /* outcomes that wait for our store to take them */
	uint64_t foreign; /* and those for other stores */
	uint64_t aside;   /* damaged files (journal_aside.h) */
	/* The name of one file each; NULL: there is none. */
	char *file;
	char *foreign_file;
	char *aside_file;
};

/*
 * All zeros where there is no folder yet; cleared by the caller.  False: the
 * folder or a file cannot be read, and errno says why.
 */
MUST_USE bool journal_survey(const char *state_dir, const struct origin *ours,
    struct journal_survey *ret_survey);
void journal_survey_clear(struct journal_survey *survey);
