/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/option.h"

/*
 * What a string of the file must be, by the type of conf/types.h that it is
 * of, or that is a list of such strings.  Pure; main thread.
 */
extern const struct rule {
	/* What is wrong with one; NULL: nothing. */
	const char *(*wrong)(const char *text);
	bool some;       /* of a list: one at least */
	bool nocase;     /* names that differ in case only are the same */
	bool short_form; /* one may stand there instead of a list */
	bool none;       /* "" stands for none, and is right */
} rule_of[TYPE_COUNT_];

/* What PostgreSQL cuts names at (NAMEDATALEN). */
enum { IDENTIFIER_MAX = 63 };

/* True of a header that the gateway removes from a request or writes itself. */
bool rule_is_ours(const char *field);
