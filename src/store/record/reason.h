/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

/*
 * The reasons why a record is UNKNOWN (tbl/reasons.h): each is a letter in the
 * record, and a word that people see.  Pure; any thread.
 */
enum reason {
#define REASON(name, letter, word, ...) REASON_##name,
#include "tbl/reasons.h"
#undef REASON
	REASON_COUNT_,
};

/*
 * The reason of a letter; false: there is none.  A capital letter is the same
 * reason (src/store/record/lua/transitions.lua says what it adds).
 */
bool reason_of(char letter, enum reason *ret_reason);
/* The letter of each, in lower case. */
extern const char reason_letters[REASON_COUNT_];
/* The word of each, such as "lease-expired"; "" for REASON_NONE. */
extern const char *const reason_words[REASON_COUNT_];
