/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/* One of a few words (conf/words.h).  Main thread. */

/* Which of the words the value is; -1 after complaining. */
int choice_read(struct loader *l, const struct json_place *at,
    const json_t *value, const char *words);

/* The same of on_unknown, whose third word is an object. */
int choice_read_on_unknown(struct loader *l, const struct given *given);
/* What that object has as "reconcile"; NULL after complaining. */
json_t *choice_read_reconcile(struct loader *l, const struct given *given);

/* --- types of conf/types.h --- */

void choice_parse(struct loader *l, const struct given *given);
/* Of one word: true where it is there. */
void choice_parse_only(struct loader *l, const struct given *given);
/* Of two words: true is the second. */
void choice_parse_toggle(struct loader *l, const struct given *given);
/* fingerprint.include: a list of parts. */
void choice_parse_parts(struct loader *l, const struct given *given);
/* The name of one of tbl/presets.h. */
void choice_parse_preset(struct loader *l, const struct given *given);
/* Statuses by the types of problems, each laid over what was there before. */
void choice_parse_problems(struct loader *l, const struct given *given);
/*
 * Lays the entries over what the table has already: a status beats its class,
 * and because the built-in entries, those of `defaults` and the route's own
 * come one after the other, each beats those before.
 */
void choice_parse_outcomes(struct loader *l, const struct given *given);
