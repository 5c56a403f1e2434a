/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/token/token.h"

/*
 * A file of keys, which is read again when it changes: who issues tokens makes
 * new keys now and then.  One that is read wrong changes nothing.  The main
 * thread reads; any thread verifies by it.
 */
struct token_file;

/* NULL: it cannot be used; *ret_wrong is a sentence that the caller frees. */
MUST_USE struct token_file *token_file_new(
    const char *name, char **ret_wrong);
/* Nulls the pointer; NULL is accepted. */
void token_file_free(struct token_file **file);

enum token_file_news {
	TOKEN_FILE_SAME,
	TOKEN_FILE_NEW,
	TOKEN_FILE_WRONG, /* said once; the keys of before are used on */
};
/* Looks whether it has changed; *ret_wrong as above, where it is WRONG. */
enum token_file_news token_file_look(
    struct token_file *file, char **ret_wrong);
/*
 * For people: which of its keys are used, and which are left out, NULL where
 * none is (token/token_keys.h); the caller frees them.
 */
char *token_file_used(const struct token_file *file);
char *token_file_left(const struct token_file *file);
/* The name of a key whose private part is in it; NULL: none; so freed. */
char *token_file_private(const struct token_file *file);
/* token_verify() by the keys of now. */
MUST_USE const char *token_file_verify(struct arena *arena,
    const struct token_file *file, const struct token_rules *rules,
    struct span token, int64_t now_ms, struct span *ret_value);
