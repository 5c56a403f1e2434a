/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * A connection that blocks (dial.h) to the Redis of the configuration,
 * whichever way it is named there.  Any thread that may block.
 */
struct redisContext;

/* NULL with a message why not, which the caller frees. */
struct redisContext *dial_redis(const struct conf *conf, char **ret_message);
