/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/counter.h"
#include "base/loop/loop.h"
#include "store/journal/journal.h"

/*
 * Looks, every few seconds and on another thread, for journals whose process is
 * gone, hands over those with entries for our store, and says in the log what
 * it finds.  It does not deliver.  The loop's thread only.
 */
struct journal_adoption;
struct journal_waiting;

/*
 * take(arg, journal) is called for each that is adopted, which is its then; and
 * looked(arg) after each look.  As long as our store's id is not known, what is
 * in the others and may be for it is in waiting.
 */
struct journal_adoption *journal_adoption_new(struct loop *loop,
    const char *state_dir, struct journal_waiting *waiting,
    void (*take)(void *arg, struct journal *journal),
    void (*looked)(void *arg), void *arg);
/*
 * Waits for a look that is under way; nulls the caller's pointer, accepts NULL.
 */
void journal_adoption_free(struct journal_adoption **adoption);
/*
 * The first look, which blocks: before anybody is served, so that nothing is
 * executed of which a dead process has an outcome on disk.
 */
void journal_adoption_look_first(
    struct journal_adoption *adoption, const struct origin *ours);
/* Begins to look, if it is time; settled: as of journal_folder_adopt. */
void journal_adoption_look(struct journal_adoption *adoption,
    const struct origin *ours, bool settled);
/* As of the last look: entries for other stores, and damaged files. */
void journal_adoption_count(const struct journal_adoption *adoption,
    struct counter *foreign, struct counter *aside);
