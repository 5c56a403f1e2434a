/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "http/upstream/forward.h"

/*
 * A claimant's request becomes a message for its upstream here, whichever
 * machine sends it.  The worker's thread only.
 */
struct claimant;
struct variables;

/*
 * Makes c->message, without the body where that was not read; it points into
 * the claimant's arena and body.  attempt is the fencing number, or 0 where
 * nothing is claimed and the upstream is told none.
 */
void message_make(struct claimant *c, uint32_t attempt);

/*
 * Makes the query that asks the API what became of an earlier attempt
 * (on_unknown: reconcile): a GET with the scope's fields, in the claimant's
 * arena.  NULL where its path cannot be made of this request, or the policy has
 * none.
 */
const struct message *message_reconcile(
    struct claimant *c, const struct variables *variables);

/*
 * Returns the limits of an answer of that route's upstream, to a request under
 * that policy; NULL: to one that is passed through.
 */
struct forward_limits message_limits(const struct conf_route *route,
    const struct conf_idempotency *policy);
