/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/types.h"

/*
 * A claim on its way: its arguments, its deadline, and when it has to be given
 * back (claim_revoke.h), because its reply is lost or nobody waits for it any
 * more.  It knows no other operation.  Others claim by store_claim; the store's
 * thread.
 */
struct store;

/*
 * What store_claim (store.h) does; policy and route of claim are only read
 * here, not kept.
 */
void claim_start(
    struct store *store, struct store_op *op, const struct claim *claim);

/*
 * The claim has just become ours (OURS, RECONCILE), and its owner ends in the
 * same turn: it is given back in the background, and counted by store_unsettled
 * until then.
 */
void claim_undo(struct store *store, const struct claim *claim);
