/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * Damaged files of journals are kept aside, for somebody to look into: nothing
 * reads them again, and nothing removes them.  Any thread that may block, with
 * the file's lock.
 */
#define JOURNAL_ASIDE ".damaged-"

/*
 * Renames a file in the folder to NAME.damaged-N.  The new name, which the
 * caller frees; NULL with errno: it has its old one.
 */
char *journal_aside(int folder, const char *name);
