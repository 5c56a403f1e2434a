/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <stddef.h>

#include "base/must.h"
#include "store/record/reason.h"

static const struct {
	char letter;
	const char *word;
} reasons[] = {
#define REASON(name, letter, word, ...) {letter, word},
#include "tbl/reasons.h"
#undef REASON
};

bool
reason_of(char letter, enum reason *ret_reason)
{
	letter = (char)tolower((unsigned char)letter);
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
		if (reasons[i].letter != letter)
			continue;
		*ret_reason = (enum reason)i;
		return true;
	}
	return false;
}

char
reason_letter(enum reason reason)
{
	must((unsigned)reason < REASON_COUNT_);
	return reasons[reason].letter;
}

const char *
reason_word(enum reason reason)
{
	must((unsigned)reason < REASON_COUNT_);
	return reasons[reason].word;
}
