/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/probe/events_query.h"

/*
 * Where `onceproxy events` begins, as people say it: a position (SHARD-MS-SEQ,
 * or MS-SEQ), a time (RFC 3339, section 5.6), how long ago ("15m"), or "now".
 * Pure; any thread.
 */

/*
 * Reads that; NULL: from the beginning.  *ret_since is of EVENTS_SINCE alone.
 * now_ms: since 1970.  False: it is none of these.
 */
MUST_USE bool events_from_read(const char *text, int64_t now_ms,
    enum events_from *ret_from, struct event_id *ret_since);
