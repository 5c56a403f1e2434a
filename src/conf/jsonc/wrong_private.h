/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/json.h"

/*
 * What is wrong with a text that is no JSON, in words for people: the reader
 * only knows what was to come where.  Pure; any thread.
 */
struct wrong {
	const char *at;
	const char *words;
	const char *opened; /* a bracket that may lack its own; NULL: none */
};

struct wrong wrong_of(struct span text, const struct json_fault *fault);
/* Of a text that has no object or list to begin with; words NULL: it has. */
struct wrong wrong_from_the_start(struct span text);
