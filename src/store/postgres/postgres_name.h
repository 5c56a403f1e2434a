/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"

/*
 * Names of the configuration as SQL has them: quoted, so that each is that very
 * name and nothing else (PostgreSQL 15, 4.1.1).  Pure; any thread.
 */

/* The text between such quotes, those in it doubled, in the arena. */
struct span postgres_name_quoted(
    struct arena *arena, struct span text, char quote);
/* "NAME", in the arena. */
struct span postgres_name_of(struct arena *arena, const char *name);
/* "SCHEMA"."TABLE", or "TABLE", of the configuration's text. */
const char *postgres_name_table(struct arena *arena, const char *table);
