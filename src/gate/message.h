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
 * (on_unknown: reconcile): a GET with the scope's fields, or the policy's own,
 * in the claimant's arena.  NULL where its path cannot be made of this request,
 * or the policy has none.
 */
const struct message *message_reconcile(
    struct claimant *c, const struct variables *variables);

/*
 * What such a query is made of where the configuration has headers of its own
 * for it, so that any gateway can make it without the request; a text for the
 * record.  It has the values of the request, and no other: of what the
 * configuration says a hash is in it.  Empty where it cannot be made.
 */
struct span message_question(
    struct claimant *c, const struct variables *variables);
/*
 * Makes the query of that text and of what the policy's headers are now; NULL
 * where it has none any more, or asks in other words than it did then.
 * Of the claimant it takes the route, its policy, arena, conf and id.
 */
const struct message *message_of_question(
    struct claimant *c, struct span question);

/*
 * Returns the limits of an answer of that route's upstream, to a request under
 * that policy; NULL: to one that is passed through.
 */
struct forward_limits message_limits(const struct conf_route *route,
    const struct conf_idempotency *policy);
