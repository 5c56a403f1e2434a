/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/types.h"

/*
 * A claim on its way: its arguments, its deadline, and what becomes of it
 * where its reply is lost or nobody waits for it any more (claim_revoke.h).
 * For src/store/ alone; the store's thread.
 */
struct store;

/* store_claim (store.h). */
void claim_start(
    struct store *store, struct store_op *op, const struct claim *claim);
