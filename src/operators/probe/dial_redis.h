/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * A blocking connection (dial.h) to the Redis of the configuration, however it
 * is named there; not to a cluster.  It knows no records.  Any thread that may
 * block.
 */
struct dialled;

/*
 * The caller frees it (redisFree); or NULL, with a message that the caller
 * frees.
 */
struct dialled *dial_redis(const struct conf *conf, char **ret_message);
/* The same, of a Redis that is not managed: a broker's, or the store's. */
struct dialled *dial_redis_at(
    const struct conf_redis *at, char **ret_message);
