/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/claimant.h"
#include "messages/broker/broker.h"

/*
 * The request that is made of a message: method, path, fields and body, as its
 * source says, and its idempotency key, by the rules of the route that serves
 * it.  What the gateway would refuse of a client it refuses here.  It claims
 * nothing.  The worker's thread; what it makes lies in the claimant's arena.
 */
enum shape_verdict {
	SHAPE_GOOD,
	SHAPE_MALFORMED,
	SHAPE_KEY_MISSING,
	SHAPE_TOO_LARGE,
	SHAPE_OWN_SCOPE, /* the source's is refused: no message is to blame */
	SHAPE_UNVERIFIED, /* keys of its token are fetched: look again soon */
};

/*
 * Fills in the request of c, which claimant_init has begun, and names its
 * record.  body becomes c's; its owner clears it.  Unless it is good,
 * *ret_detail says why in a sentence or a word, else it is untouched.
 */
MUST_USE enum shape_verdict shape_request(const struct conf_source *source,
    const struct broker_message *message, struct claimant *c,
    struct body *body, struct span *ret_detail);
/*
 * How many parts of the scope of the route that was found are the same in all
 * messages of the source.
 */
size_t shape_own_scope(
    const struct conf_source *source, const struct claimant *c);

/*
 * The hash of the message's order, after shape_body; false: it has none,
 * although its source wants one.
 */
MUST_USE bool shape_order(const struct conf_source *source,
    const struct broker_message *message, struct span body,
    uint8_t ret_order[DIGEST_BYTES]);
/*
 * The body of the request: the payload, a field, or all fields as JSON; good or
 * malformed.
 */
MUST_USE enum shape_verdict shape_body(const struct conf_source *source,
    const struct broker_message *message, struct body *body,
    struct span *ret_detail);
