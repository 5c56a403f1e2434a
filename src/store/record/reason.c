/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <string.h>

#include "store/record/reason.h"

const char reason_letters[REASON_COUNT_] = {
#define REASON(name, letter, word, ...) letter,
#include "tbl/reasons.h"
#undef REASON
};

const char *const reason_words[REASON_COUNT_] = {
#define REASON(name, letter, word, ...) word,
#include "tbl/reasons.h"
#undef REASON
};

bool
reason_of(char letter, enum reason *ret_reason)
{
	letter = (char)tolower((unsigned char)letter);
	const char *at = memchr(reason_letters, letter, sizeof reason_letters);
	if (at != NULL)
		*ret_reason = (enum reason)(at - reason_letters);
	return at != NULL;
}
