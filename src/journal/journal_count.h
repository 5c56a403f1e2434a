/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "journal/journal.h"

/*
 * A look at the journals below a state_dir from outside of the processes that
 * write them: it takes no lock and changes nothing, so that what it finds is
 * only as it was when it looked.  Any thread that may block.
 */

/*
 * How many outcomes wait there to be taken by Redis; 0 also where there is
 * no folder yet.  False: the folder or a file in it cannot be read, and errno
 * says why.
 */
MUST_USE bool journal_count(const char *state_dir, uint64_t *ret_entries);
