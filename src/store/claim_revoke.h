/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/call.h"

/*
 * Claims whose reply never came, or came when nobody waited any more: Redis
 * may have executed them, or may still (a command that lay in the socket of a
 * frozen server).  Nothing was sent upstream for them, so they are given back:
 * released, again and again until Redis confirms it at a time when the
 * claim's deadline has passed; then none can follow.  For src/store/ alone;
 * the store's thread.
 */
struct claim_revoke;

/* What it takes to give that claim back. */
struct claim_revoke *claim_revoke_new(const struct claim *claim);
/* The claim turned out well. */
void claim_revoke_drop(struct claim_revoke **revoke);
/*
 * The claim is to be given back; deadline_ms is its own, on the clock of the
 * Redis that it was sent to, which is that node (NULL: it was never sent).
 * The revoke is the store's from now on.
 */
void claim_revoke_start(struct store *store, struct claim_revoke *revoke,
    const struct node *node, int64_t deadline_ms);
/* A link is up: all that are due are sent. */
void claim_revoke_pump(struct store *store);
/* True while a claim of that owner is being given back. */
bool claim_revoke_has(const struct store *store, const struct owner *owner);
/* Of a new store. */
void claim_revoke_init(struct store *store);
/* Forgets them all: their records become unknown when their leases end. */
void claim_revoke_free(struct store *store);
