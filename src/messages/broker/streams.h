/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/broker/broker.h"

/*
 * The client of Redis Streams (BROKER_STREAMS), one Redis, a master that
 * Sentinels name or a Redis Cluster; streams_private.h says what it is made of.
 * It knows nothing of gates, routes and records.  The thread of its loop.
 *
 * What its user of Redis must be allowed, for the keys of the source's stream,
 * its results and its dead letters: client|setname, eval, evalsha, info, ping,
 * time, xack, xadd, xclaim, xgroup|create, xgroup|setid, xinfo|consumers,
 * xinfo|groups, xinfo|stream, xpending, xrange, xreadgroup; select where the
 * URL has a database; asking in a cluster.  It works without client|setname and
 * info too.
 */
extern const struct broker_client streams_client;

/*
 * How many readers of that loop were closed and still give back what they had:
 * none for longer than the broker's timeout.  A drain waits for 0.
 */
size_t streams_leave_count(const struct loop *loop);
/*
 * Frees those at once; before the loop is freed.  What they have not given back
 * others take when it has been idle for twice the lease.
 */
void streams_leave_abandon(struct loop *loop);
