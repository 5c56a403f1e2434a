/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/verdict.h"

bool
verdict_of(struct span word, enum verdict *ret_verdict)
{
	static const char *const words[] = {
#define VERDICT(name, word) word,
#include "tbl/verdicts.h"
#undef VERDICT
	};
	for (int i = 0; i < VERDICT_COUNT_; i++) {
		if (!span_eq(word, span_str(words[i])))
			continue;
		*ret_verdict = (enum verdict)i;
		return true;
	}
	return false;
}
