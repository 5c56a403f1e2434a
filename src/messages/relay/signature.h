/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "conf/conf.h"

/*
 * Signs a webhook as Standard Webhooks 1.0.0 says: what is signed is the id,
 * the time of this try and the body.  It knows nothing of how they are sent.
 * Pure; any thread.
 */

/*
 * What webhook-signature says, in the arena: one signature of each secret, in
 * their order, so that a receiver may know either during a rotation.
 * time_s is since 1970; id has no dot.
 */
struct span signature_text(struct arena *arena,
    const struct conf_webhook_secret *secrets, size_t n_secrets,
    struct span id, int64_t time_s, struct span body);
