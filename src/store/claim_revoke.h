/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/store_private.h"

/*
 * Claims whose reply never came, or came when nobody waited any more: Redis
 * may have executed them, or may still (a command that lay in the socket of
 * a frozen server).  Nothing was sent upstream for them, so they are
 * released, again and again until Redis confirms it at a time when the
 * claim's deadline has passed: then none can follow.
 */

/* What it takes to give that claim back. */
struct claim_revoke *claim_revoke_new(const struct claim *claim);
/* The claim turned out well. */
void claim_revoke_drop(struct claim_revoke **revoke);
/* The claim, a call that ends, is to be given back. */
void claim_revoke_start(struct store_call *claim);
/* The link is up: all that are due are sent. */
void claim_revoke_pump(struct store *store);
/* True while a claim of that owner is being given back. */
bool claim_revoke_has(const struct store *store, const struct owner *owner);
/* Forgets them all: their records become unknown when their leases end. */
void claim_revoke_free(struct store *store);
