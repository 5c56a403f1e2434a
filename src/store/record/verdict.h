/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/must.h"
#include "base/span.h"

/*
 * The decision of a script: the word that it answers first (tbl/verdicts.h).
 * Pure; any thread.
 */
enum verdict {
#define VERDICT(name, word) VERDICT_##name,
#include "tbl/verdicts.h"
#undef VERDICT
	VERDICT_COUNT_,
};

/* The verdict of a script's word; false: there is none. */
MUST_USE bool verdict_of(struct span word, enum verdict *ret_verdict);
