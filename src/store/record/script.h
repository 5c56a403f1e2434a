/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/span.h"
#include "store/redis/sha1.h"

/*
 * The scripts of a record (src/store/record/lua/): their text, which make
 * embeds, and the SHA-1 by which Redis knows them (EVALSHA).  It knows no
 * connection.  Pure; any thread.
 */
enum script {
#define SCRIPT(name, word) SCRIPT_##name,
#include "tbl/scripts.h"
#undef SCRIPT
	SCRIPT_COUNT_,
};

/* The texts, in src/store/record/lua/scripts.c, which make generates. */
#define SCRIPT(name, word) extern const char script_##name[];
#include "tbl/scripts.h"
#undef SCRIPT

struct script_names {
	char sha[SCRIPT_COUNT_][SHA1_HEX + 1];
};

/* Computes the names: the SHA-1 of each text, in hex. */
void script_names(struct script_names *ret_names);
/* The whole text, for EVAL. */
struct span script_text(enum script script);
/* The word of each in metrics and the log (tbl/scripts.h), such as "claim". */
extern const char *const script_words[SCRIPT_COUNT_];

/* --- the library of functions --- */

/*
 * The scripts of a record as one library of functions (FUNCTION LOAD), for
 * store.scripting "function".  A function's name is unique in all of Redis, so
 * the library's name, and with it each function's, ends with digits of a hash
 * over its text: gateways of two versions have a library each, and neither ever
 * replaces the other's.
 *
 * A script's "#!lua" line says what a full Redis, or one that refuses writes
 * for another reason, does with it; the function's flags say the same.  A
 * script without that line is run by such a Redis until its first write, which
 * is refused.  Functions cannot do that, so it becomes two: one that may write,
 * which such a Redis refuses as a whole, and one that only reads, whose first
 * write is always refused.
 */
enum {
	LIBRARY_CHARS = 26,  /* of the library's name */
	FUNCTION_CHARS = 48, /* of a function's name, at most */
};

struct function_library {
	char name[LIBRARY_CHARS + 1];
	char *text; /* for FUNCTION LOAD */
	char functions[SCRIPT_COUNT_][FUNCTION_CHARS + 1];
	/* The function that only reads; "": there is none. */
	char readers[SCRIPT_COUNT_][FUNCTION_CHARS + 1];
};

/* The library of all scripts; the caller frees it with script_library_free. */
struct function_library *script_library_new(void);
/* Nulls the caller's pointer, accepts NULL. */
void script_library_free(struct function_library **library);
