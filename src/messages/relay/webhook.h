/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/relay/relay.h"

/*
 * The target that posts events to a URL, each signed and with the id that lets
 * its receiver do it once (Standard Webhooks 1.0.0): at least once, in the
 * order of each record, until the receiver takes it, or for three days and
 * twelve tries.  What it has not brought yet waits in its queue
 * (webhook_queue.h), which ends the batch.  It knows no streams.  The worker's
 * thread; the core closes it.
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
