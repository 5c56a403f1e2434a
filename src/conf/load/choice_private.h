/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/* One of a few words (conf/words.h).  Main thread. */

/* Which of the words the value is; -1 after complaining. */
int choice_read(struct loader *l, const struct json_place *at,
    const json_t *value, const char *words);

/* --- types of conf/types.h --- */

/* Its number; of two words, whether it is the second; of one, true. */
void choice_parse(struct loader *l, const struct given *given);
/* fingerprint.include: a list of parts. */
void choice_parse_parts(struct loader *l, const struct given *given);
/* Statuses by the types of problems, each laid over what was there before. */
void choice_parse_problems(struct loader *l, const struct given *given);
/*
 * Lays the entries over what the table has already: a status beats its class,
 * and because the built-in entries, those of `defaults` and the route's own
 * come one after the other, each beats those before.
 */
void choice_parse_outcomes(struct loader *l, const struct given *given);
