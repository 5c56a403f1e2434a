/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/loop.h"
#include "store/journal/journal.h"

/*
 * Searches, every few seconds and on another thread, for journals whose process
 * is gone, hands over those with entries for our store, and logs what it finds.
 * It does not deliver.  The loop's thread only.
 */
struct journal_adoption;
struct journal_awaited;

/*
 * take(arg, journal) is called for each that is adopted, and owns it from then
 * on; searched after each search, with the entries for other stores and the
 * damaged files that there are.  As long as our store's id is not known,
 * awaited has what is in the other files and may be for our store.
 */
struct journal_adoption *journal_adoption_new(struct loop *loop,
    const char *state_dir, struct journal_awaited *awaited,
    void (*take)(void *arg, struct journal *journal),
    void (*searched)(void *arg, uint64_t foreign, uint64_t aside), void *arg);
/*
 * Waits for a search that is under way; nulls the caller's pointer, and accepts
 * NULL.
 */
void journal_adoption_free(struct journal_adoption **adoption);
/*
 * Begins a search, if it is time; settled: as of journal_folder_adopt.  blocks:
 * it is done at the return, as the first is, before anybody is served, so that
 * nothing is executed of which a dead process has an outcome on disk.
 */
void journal_adoption_search(struct journal_adoption *adoption,
    const struct origin *ours, bool settled, bool blocks);
