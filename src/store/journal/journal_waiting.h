/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/journal/journal.h"

/*
 * Which keys have an outcome that this process knows and Redis may not: an
 * answer, or a doubt, that is in one of the process' journals or on its way
 * there.  Nothing may be executed for such a key, for Redis may have lost the
 * claim as well.  The same goes for an entity whose version such an answer
 * raises (newer_only).
 *
 * While nothing waits, asking costs no lock.  It knows nothing of who writes or
 * delivers.  Any thread; whoever makes it frees it when nobody has it any more.
 */
struct journal_waiting;

struct journal_waiting *journal_waiting_new(void);
/* Nulls the caller's pointer, accepts NULL. */
void journal_waiting_free(struct journal_waiting **waiting);

/* Adds an outcome; a release is none. */
void journal_waiting_add(
    struct journal_waiting *waiting, const struct journal_about *about);
/* Drops one: Redis knows it, or another owner has decided. */
void journal_waiting_drop(
    struct journal_waiting *waiting, const struct journal_about *about);

/*
 * Adds an outcome in a dead process' file that may be for our store, whose id
 * is not known yet; search is the number, from 1, of the search of the folder
 * that found it.  0: it is known to wait.
 */
void journal_waiting_suspect(struct journal_waiting *waiting,
    const struct journal_about *about, uint64_t search);

/* Adds, with that search, or drops all outcomes that are open in a journal. */
void journal_waiting_add_all(struct journal_waiting *waiting,
    const struct journal *journal, uint64_t search);
void journal_waiting_drop_all(
    struct journal_waiting *waiting, const struct journal *journal);

/* Forgets what earlier searches than that have found. */
void journal_waiting_acquit(struct journal_waiting *waiting, uint64_t search);

/*
 * True where an outcome of that key waits; or, if entity is not NULL, an answer
 * that raises the entity's version.  ours is our store, and settled says that
 * its id is known: until then, what may be for our store counts as if it were.
 */
bool journal_waiting_has(struct journal_waiting *waiting,
    const struct origin *ours, bool settled, const struct key_id *key_id,
    const uint8_t *entity);
