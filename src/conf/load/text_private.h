/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/*
 * Strings of the file: each may stand there, or in the environment or another
 * file that an object names instead; and secrets, which end up in memory of
 * base/secret.h.  What is read lives as long as the configuration.  Main
 * thread.
 */

/* True of a string, and of {"env"} or {"file"} instead of one. */
bool text_is_one(const json_t *value);
/*
 * The string that a value is or names, never with a NUL inside; NULL after
 * complaining.
 */
char *text_read(
    struct loader *l, const struct json_place *at, const json_t *value);
/* The same of one that is what the rule of that type says. */
char *text_read_as(struct loader *l, const struct json_place *at,
    const json_t *value, enum option_type type);
/*
 * The same as text_read of a secret: one that {"env"} names is taken out of the
 * environment, and a reload still has it.
 */
char *text_read_hidden(
    struct loader *l, const struct json_place *at, const json_t *value);
/* Moves a string into memory for secrets; of it nothing is left. */
char *text_secret(struct loader *l, char *text);

/* --- where texts are --- */

/*
 * Remembers, in conf->secrets, that the file has the secret that stands at a
 * place, or has that path from there.
 */
void text_note_secret(struct loader *l, const struct json_place *at,
    const char *path, const char *file);
