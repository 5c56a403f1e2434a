/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/broker/relay_target.h"

/*
 * The target that posts events to a URL, each signed and with the id that lets
 * its receiver do it once (Standard Webhooks 1.0.0): at least once, in the
 * order of each record, until the receiver takes it, or for three days and
 * twelve tries.  What it has not brought yet is kept in Redis.  It knows no
 * streams.  The worker's thread; the core closes it.
 */
extern const struct relay_target_kind webhook_kind;

/*
 * How long until the next try, in ms, from 1: 1 s, then twice as long each
 * time, up to 1 h, with jitter; later where the receiver says so.  tries have
 * failed (1 or more), the relay has run for ran_s seconds since the event was
 * kept, after_ms is Retry-After (0: none) and chance is any number.  False: it
 * is given up.  Pure; any thread.
 */
MUST_USE bool webhook_retry_ms(unsigned tries, int64_t ran_s, int64_t after_ms,
    uint32_t chance, int64_t *ret_ms);
/*
 * What webhook-signature says, in the arena: one signature of each secret, over
 * the id, the time of this try and the body, in their order, so that a receiver
 * may know either during a rotation.  time_s is since 1970; id has no dot.
 * Pure; any thread.
 */
struct span webhook_signature(struct arena *arena,
    const struct conf_webhook_secret *secrets, size_t n_secrets,
    struct span id, int64_t time_s, struct span body);
