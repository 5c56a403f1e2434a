/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/loader_private.h"

/*
 * One of a few words, which an option has in one string with blanks between
 * them.  Main thread, but for the first three functions, which are pure.
 */

/* Where a word stands in a list of words; -1: nowhere. */
int choice_index(const char *words, const char *word);
/* The word at a place in the list, which has it; the caller frees it. */
char *choice_word(const char *words, unsigned index);
/* `"a", "b" or "c"`, for complaints; the caller frees it. */
char *choice_listed(const char *words);

/* Which of the words the value is; -1 after complaining. */
int choice_read(struct loader *l, const struct json_place *at,
    const json_t *value, const char *words);

/* --- types of conf/types.h --- */

void choice_parse(struct loader *l, const struct given *given);
/* Of two words: true is the second. */
void choice_parse_toggle(struct loader *l, const struct given *given);
