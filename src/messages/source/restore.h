/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/source/inquiry.h"
#include "messages/source/source.h"

/*
 * Restores letters of a source, on an operator's word after Redis was lost: of
 * the copies in its broker's own place those become letters again, in their
 * order, that no mark says are done with; a letter that the store has stays as
 * it is.  What was parked comes back parked.  One at a time for a source, which
 * reads on meanwhile unless it stands.  The worker's thread only.
 */
struct restore;

/*
 * Begins; inquiry goes on when all is done, with how many were restored, or
 * with why not: it is under way already, the broker is away or refuses, or the
 * store is.
 */
void restore_begin(struct source *source, struct inquiry *inquiry);
/* Gives up, and says so; nulls the pointer, accepts NULL. */
void restore_free(struct restore **restore);
/*
 * The letter of that position is ended now, of which the broker's own place has
 * a mark by now; restore NULL: none is under way.
 */
void restore_over(struct restore *restore, struct span position);
