/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/mem.h"
#include "operators/probe/dial.h"
#include "operators/probe/dial_redis.h"
#include "operators/probe/sentinel_query.h"
#include "store/redis/managed.h"

/* The master, as the Sentinels name it. */
static struct dialled *
dial_master(const struct conf_redis *at, char **ret_message)
{
	struct sentinel_answer *seen = sentinel_query(at);
	struct sentinel_named named;
	struct dialled *redis = NULL;
	if (sentinel_query_agrees(at, seen, &named))
		redis = dial_tcp(at, named.host, named.port, ret_message);
	else
		*ret_message = mem_printf(
		    "no Sentinel names a master \"%s\"", at->master);
	sentinel_query_free(at, &seen);
	return redis;
}

struct dialled *
dial_redis_at(const struct conf_redis *at, char **ret_message)
{
	if (at->sentinels.count > 0)
		return dial_master(at, ret_message);
	if (at->address.kind == ADDRESS_UNIX)
		return dial_unix(at, at->address.host, ret_message);
	return dial_tcp(at, at->address.host, at->address.port, ret_message);
}

struct dialled *
dial_redis(const struct conf *conf, char **ret_message)
{
	if (!conf->store.redis.managed)
		return dial_redis_at(&conf->store.redis, ret_message);
	char *socket = managed_socket(conf);
	struct dialled *redis =
	    dial_unix(&conf->store.redis, socket, ret_message);
	int saved = errno;
	free(socket);
	errno = saved;
	return redis;
}
