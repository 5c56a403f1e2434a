/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "record/script.h"

/*
 * The Lua steps of a record as one library of functions (FUNCTION LOAD), for
 * store.scripting "function".  Functions have one name in all of Redis, so
 * the name of the library, and with it that of each function, ends with
 * digits of a hash over its text: gateways of two versions have a library
 * each, and neither ever replaces the other's.  Pure; any thread.
 *
 * What the "#!lua" line of a script says of a full Redis, and of one that
 * takes no writes for another reason, the function's flags say.  A script
 * that has no such line, so that its reads run there and its first write is
 * refused, is two functions: one that may write, which such a Redis refuses
 * as a whole, and one that only reads, whose first write is refused always.
 */
enum {
	LIBRARY_CHARS = 26,  /* of its name */
	FUNCTION_CHARS = 48, /* of a function's, at most */
};

struct library {
	char name[LIBRARY_CHARS + 1];
	char *text; /* for FUNCTION LOAD */
	char functions[SCRIPT_COUNT_][FUNCTION_CHARS + 1];
	/* The one that only reads; "": there is none. */
	char readers[SCRIPT_COUNT_][FUNCTION_CHARS + 1];
};

/* Of all scripts; the caller frees it with library_free. */
struct library *library_new(void);
/* Nulls the caller's pointer, accepts NULL. */
void library_free(struct library **library);
