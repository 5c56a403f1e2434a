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
 * The question about an earlier attempt (on_unknown: reconcile): GET, with the
 * scope's fields.  False where the path cannot be made of this request.
 */
MUST_USE bool message_question(struct claimant *c,
    const struct variables *variables, struct message *ret_message);

/*
 * The limits of an answer of that route's upstream, to a request under
 * that policy or, NULL, to one that is passed through.
 */
struct forward_limits message_limits(const struct conf_route *route,
    const struct conf_idempotency *policy);
