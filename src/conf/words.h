/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * A list of words in one string with blanks between them, as an option has
 * those that may be chosen.  Pure; any thread.
 */

/* Where a word stands in a list of words; -1: nowhere. */
int words_index(const char *words, const char *word);
/* The word at a place in the list, which has it; the caller frees it. */
char *words_at(const char *words, unsigned index);
/* `"a", "b" or "c"`, for complaints; the caller frees it. */
char *words_listed(const char *words);
