/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/answer.h"
#include "base/arena.h"
#include "base/must.h"
#include "conf/conf.h"
#include "gate/key/content.h"

/*
 * replay_json: members of a stored answer that each replay has from its own
 * request, as clients know answers by the "id" of JSON-RPC.  The stored answer
 * stays as it is.  Pure; the worker's thread only.
 */

/*
 * Takes the values of these members from a request, as they are written: one
 * for each pointer of the policy, in the arena; with a ptr of NULL where the
 * request has none that is a string, number, boolean or null of at most
 * 256 bytes.
 */
struct span *replay_json_take(struct arena *arena,
    const struct conf_idempotency *policy, const struct content *content);
/*
 * Puts them in the place of the answer's own, and takes the caller's reference
 * to that; an answer that is no JSON, or has no such members, stays itself.
 * E_NO_MEMORY: the budget does not allow another body.
 */
MUST_USE int replay_json_put(struct budget *budget,
    const struct conf_idempotency *policy, const struct span *taken,
    struct answer **answer);
