/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"
#include "messages/relay/relay_batch.h"

/*
 * What a target is given: an event as JSON (contract, section 12), and the
 * signature of a webhook as Standard Webhooks 1.0.0 has it.  The JSON has all
 * members, always, null where nothing is known.  What is no UTF-8 is read as
 * Latin-1, a body of such bytes is in base64, and so is one that has a NUL,
 * which PostgreSQL's jsonb does not take.  Pure; any thread.
 */

/* One object, in the arena. */
struct span relay_text_event(
    struct arena *arena, const struct relay_event *event);
/*
 * What webhook-signature says, in the arena: one signature of each secret, over
 * the id, the time of this try and the body, in their order, so that a receiver
 * may know either during a rotation.  time_s is since 1970; id has no dot.
 */
struct span relay_text_signature(struct arena *arena,
    const struct conf_webhook_secret *secrets, size_t n_secrets,
    struct span id, int64_t time_s, struct span body);
