/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/journal/journal_entry.h"

/*
 * It knows the keys whose outcome this process knows and Redis may not: an
 * answer, or a doubt, that is in one of the process' journals or on its way
 * there.  Nothing may be executed for such a key, for Redis may have lost the
 * claim as well.  The same goes for an entity whose version such an answer
 * raises (newer_only).
 *
 * While nothing is awaited, asking costs no lock.  It knows nothing of who
 * writes or delivers.  Any thread; whoever makes it frees it when nobody has it
 * any more.
 */
struct journal_awaited;

struct journal_awaited *journal_awaited_new(void);
/* Nulls the caller's pointer, accepts NULL. */
void journal_awaited_free(struct journal_awaited **awaited);

/*
 * Adds an outcome; a release is none.  search is 0; or, for one in a dead
 * process' file that may be for our store, whose id is not known yet, the
 * number, from 1, of the search of the folder that found it.
 */
void journal_awaited_add(struct journal_awaited *awaited,
    const struct journal_about *about, uint64_t search);
/* Drops one: Redis knows it, or another owner has decided. */
void journal_awaited_drop(
    struct journal_awaited *awaited, const struct journal_about *about);

/* Forgets what earlier searches than that have found. */
void journal_awaited_acquit(struct journal_awaited *awaited, uint64_t search);

/*
 * True where an outcome of that key is awaited; or, if entity is not NULL, an
 * answer that raises the entity's version.  ours is our store, and settled says
 * that its id is known: until then, what may be for our store counts as if it
 * were.
 */
bool journal_awaited_has(struct journal_awaited *awaited,
    const struct origin *ours, bool settled, const struct key_id *key_id,
    const uint8_t *entity);
