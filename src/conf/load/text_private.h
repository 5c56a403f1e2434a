/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/*
 * Strings of the file: each may stand there, or in the environment or another
 * file that an object names instead.  Main thread, but for text_free and
 * text_clear.
 */

/* True of a string, and of {"env"} or {"file"} instead of one. */
bool text_is_one(const json_t *value);
/*
 * The string that a value is or names, never with a NUL inside; NULL after
 * complaining.  The caller frees it with text_free.
 */
char *text_read(
    struct loader *l, const struct json_place *at, const json_t *value);
/* Wipes and frees a string, nulls the pointer; NULL is accepted. */
void text_free(char **text);

/* --- what is wrong with a string; NULL: nothing --- */

/* The name of a header that may be asked for or sent. */
const char *text_wrong_field(const char *text);
/* The name of a method. */
const char *text_wrong_method(const char *text);
/* True of a header that the gateway removes from a request or writes itself. */
bool text_is_ours(const char *field);

/* --- types of conf/types.h --- */

void text_parse(struct loader *l, const struct given *given);
void text_parse_address(struct loader *l, const struct given *given);
void text_clear(void *base, void *field);

/* --- where texts are --- */

/*
 * Remembers, in conf->secrets, that the file has the secret that stands at a
 * place, or in that option of the object there.
 */
void text_note_secret(struct loader *l, const struct json_place *at,
    const struct option *option, const char *file);
/*
 * Reads a whole file, which may have secrets; 0 or an errno, EFBIG beyond max
 * bytes.  The caller frees *ret_text, and wipes it before; it ends in a NUL
 * that ret_len leaves out.
 */
int text_file_read(
    const char *name, size_t max, char **ret_text, size_t *ret_len);

/* The variable of the environment; NULL: there is none. */
const char *text_env_value(const char *name);
/*
 * Where the value is a secret that {"env"} names: it is taken out of the
 * environment, and text_env_value() still has it.
 */
void text_env_hide(const json_t *value);
