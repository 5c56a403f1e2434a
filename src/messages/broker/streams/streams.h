/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/broker/driver.h"

/*
 * The driver of Redis Streams (BROKER_STREAMS): one Redis, a master that
 * Sentinels name or a Redis Cluster; streams_private.h says what it is made of.
 *
 * What its user of Redis must be allowed, for the keys of the source's stream,
 * its results and its dead letters: client|setname, eval, evalsha, ping, time,
 * xack, xadd, xclaim, xgroup|create, xgroup|setid, xinfo|consumers,
 * xinfo|groups, xinfo|stream, xpending, xrange, xread, xreadgroup, xrevrange;
 * select where the URL has a database; asking in a cluster.  It works without
 * client|setname too.
 */
extern const struct driver streams_driver;
