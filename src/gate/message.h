/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "http/upstream/forward.h"

/*
 * The message that a request becomes for its upstream, whichever machine
 * sends it.  The worker's thread only.
 */
struct claimant;
struct variables;

/*
 * Makes c->message, without the body where that was not read; it points into
 * the claimant's arena and body.  attempt: the fencing number, 0 on
 * pass-through routes, which are told none.
 */
void message_make(struct claimant *c, uint32_t attempt);

/*
 * The query that asks the API what became of an earlier attempt (on_unknown:
 * reconcile): GET, with the scope's fields, in the claimant's arena.  NULL
 * where its path cannot be made of this request.
 */
const struct message *message_reconcile(
    struct claimant *c, const struct variables *variables);

/*
 * The limits of an answer of that route's upstream, to a request under that
 * policy; NULL: to one that is passed through.
 */
struct forward_limits message_limits(const struct conf_route *route,
    const struct conf_idempotency *policy);
