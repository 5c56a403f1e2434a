/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "journal/journal.h"

/*
 * Counts what is in the journals below a state_dir, from outside of the
 * processes that write them.  It takes no lock and changes nothing, so the
 * result is only how things were when it looked.  Any thread that may block.
 */

/*
 * How many outcomes wait there for Redis to take them; 0 also where there is no
 * folder yet.  False: the folder or a file cannot be read, and errno says why.
 */
MUST_USE bool journal_count(const char *state_dir, uint64_t *ret_entries);
