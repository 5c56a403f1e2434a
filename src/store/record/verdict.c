/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/record/verdict.h"

bool
verdict_of(struct span word, enum verdict *ret_verdict)
{
	static const struct span words[] = {
#define VERDICT(name, word) {word, sizeof(word) - 1},
#include "tbl/verdicts.h"
#undef VERDICT
	};
	for (int i = 0; i < VERDICT_COUNT_; i++) {
		if (!span_eq(word, words[i]))
			continue;
		*ret_verdict = (enum verdict)i;
		return true;
	}
	return false;
}
