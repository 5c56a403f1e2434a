/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "http/upstream/forward.h"

struct transfer;

/*
 * What forward.c does for a transfer (upstream/transfer_private.h): it finds
 * the connection, judges the time, and ends it.  The worker's thread only.
 *
 * Circle: forward, transfer, transfer_answer, upstreams.  A forward and its
 * transfer are the outer and the inner half of one thing and call each other;
 * the upstreams keep the transfers that are at rest.
 */

/* Nothing was sent yet, and the time is over in which it may be. */
bool forward_too_late(const struct transfer *t);
/*
 * The connection came to nothing and has taken nothing, error says why:
 * another one or another target is tried.
 */
void forward_retry(struct transfer *t, int error);
/* The answer's head stands, and its rest comes through a flow. */
void forward_answered(struct transfer *t);
/* The result, or how the rest ended, stands; the transfer is gone. */
void forward_finish(
    struct transfer *t, enum forward_result result, int error);
