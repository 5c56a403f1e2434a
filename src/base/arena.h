/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>

#include "base/span.h"

/*
 * An arena is memory that is given up in one go: everything small that
 * belongs to one request comes from its arena.  It knows nothing of what it
 * holds and runs no destructors.  One thread at a time.
 */
struct arena;

/* A new arena with one reference. */
struct arena *arena_new(void);
struct arena *arena_ref(struct arena *arena);
/*
 * Drops a reference and nulls the caller's pointer; the last one frees the
 * arena with all it holds.  NULL is accepted.
 */
void arena_free(struct arena **arena);

/* Wipes all that it holds, which nobody looks at any more. */
void arena_wipe(struct arena *arena);

/* Zeroed memory, aligned for any type; never NULL. */
void *arena_alloc(struct arena *arena, size_t bytes);
/* A copy of a span, with a NUL behind it that the length does not count. */
struct span arena_dup(struct arena *arena, struct span s);
/* The same as a string. */
char *arena_str(struct arena *arena, struct span s);
/* A copy of what may be large: NULL where there is no memory. */
char *arena_dup_large(struct arena *arena, struct span s);
struct span arena_printf(struct arena *arena, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Frees what this thread keeps for arenas to come; for a thread that ends. */
void arena_trim(void);
