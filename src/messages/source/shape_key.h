/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/claimant.h"
#include "messages/broker/broker.h"

/*
 * The idempotency key of a message: what its source says that it is, as a field
 * of the request where the upstream is to see it, and as the claimant's key.
 * It knows no records.  The worker's thread; of the claimant's arena.
 */

/* The route is found, and the head has room for one more field. */
MUST_USE enum key_verdict shape_key(const struct conf_source *source,
    const struct broker_message *message, struct claimant *c);
