/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/span.h"
#include "store/record/verdict.h"
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
/* Its word in metrics and the log (tbl/scripts.h), such as "claim". */
const char *script_word(enum script script);
/* Whether it may answer so (tbl/answers.h). */
bool script_answers(enum script script, enum verdict verdict);
