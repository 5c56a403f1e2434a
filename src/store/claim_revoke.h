/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/call.h"
#include "store/journal/journal_writer.h"

/*
 * Gives claims back whose reply never came, or came when nobody waited any
 * more.  Redis may have executed such a claim, or may yet do so (a command may
 * lie in the socket of a frozen server).  Nothing was sent upstream for it, so
 * it is released, again and again, until Redis confirms that after the claim's
 * deadline: from then on it cannot be executed any more.  It knows nothing of
 * the operations that claimed.  For src/store/ alone; the store's thread.
 */
struct claim_revoke;

/* What it takes to give a claim back. */
struct claim_revoke_what {
	struct key_id key_id;
	struct owner owner;
	int64_t retention_ms;
	int64_t unknown_retention_ms;
};
struct claim_revoke_what claim_revoke_what(const struct claim *claim);
/*
 * Gives that claim back from now on.  node is where it was sent (NULL:
 * nowhere), deadline_ms its deadline by the clock of the Redis there.
 */
void claim_revoke_start(struct store *store,
    const struct claim_revoke_what *what, const struct node *node,
    int64_t deadline_ms);
/* Sends all that are due and reachable; called when a link has come up. */
void claim_revoke_pump(struct store *store);
/* True while a claim of that owner is being given back. */
bool claim_revoke_has(const struct store *store, const struct owner *owner);
/*
 * Writes those that are not confirmed to the journal, each of them once: those
 * that the disk has are no longer counted, and released from there.
 */
void claim_revoke_save(struct store *store, struct journal_writer *writer);
/* For a new store. */
void claim_revoke_init(struct store *store);
/* Forgets them all: their records become unknown when their leases expire. */
void claim_revoke_free(struct store *store);
