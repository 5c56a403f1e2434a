/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/journal/journal_writer.h"
#include "store/types.h"

/*
 * A claim: its arguments, its deadline, and how it is given back where its
 * reply never came, or came when nobody waited any more.  Redis may have
 * executed such a claim, or may yet do so (a command may lie in the socket of a
 * frozen server).  Nothing was sent upstream for it, so it is revoked: released
 * again and again, until Redis confirms that after the claim's deadline; from
 * then on it cannot be executed any more.  It knows no other operation.  The
 * store's thread.
 */
struct store;

/*
 * Forgets those that are being given back: their records become unknown when
 * their leases expire.
 */
void claim_end(struct store *store);

/* Draws the claim's owner: the policy's mark, and 80 random bits. */
void claim_own(struct claim *claim);
/*
 * Claims the key: OURS, or what the record says (IN_FLIGHT, UNKNOWN, COMPLETED
 * with its answer, FAILED, MISMATCH, BROKEN).  It reaches Redis within
 * store.timeout or not at all; a reply that is slow but flows may take four
 * times as long, and a large answer longer.  A claim that ends in an error, or
 * is cancelled while pending, is given back in the background, so that the next
 * retry executes; its owner must not claim again (a new owner does).  A claim
 * that is cancelled when it is done is its owner's to release (claim_undo).
 *
 * RECONCILE (policy->on_unknown is UNKNOWN_RECONCILE): the attempt, whose
 * number comes with it, is unknown, and this owner alone holds its record, to
 * ask the upstream about it.  It then completes it (outcome.h), or claims it
 * with reconciled set and executes it as OURS, or puts it back as it was
 * (UNKNOWN with any reason, or RELEASE).
 *
 * claim's policy is only read here, not kept.
 */
void claim_start(
    struct store *store, struct store_op *op, const struct claim *claim);

/*
 * The claim has just become ours (OURS, RECONCILE), and its owner ends in the
 * same turn: it is given back in the background, and counted by store_unsettled
 * until then.
 */
void claim_undo(struct store *store, const struct claim *claim);
/*
 * Releases all that are due and reachable, of a store; called when a link has
 * come up, and by the store's timer.
 */
void claim_release_due(void *store);
/*
 * Writes those that are not confirmed to the journal, each of them once: those
 * that the disk has are no longer counted, and released from there.
 */
void claim_save_revokes(struct store *store, struct journal_writer *writer);
