/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

/*
 * Why a record is UNKNOWN (tbl/reasons.h), as the letter that stands in the
 * record and as the word that people are told.  Pure; any thread.
 */
enum reason {
#define REASON(name, letter, word, ...) REASON_##name,
#include "tbl/reasons.h"
#undef REASON
	REASON_COUNT_,
};

/* The reason of a letter; false: there is none.  A capital is the same. */
bool reason_of(char letter, enum reason *ret_reason);
/* The letter of a reason. */
char reason_letter(enum reason reason);
/* The contract's word, such as "lease-expired"; "" of REASON_NONE. */
const char *reason_word(enum reason reason);
