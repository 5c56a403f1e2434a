/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/mem.h"
#include "probe/dial.h"
#include "probe/dial_redis.h"
#include "probe/sentinel_query.h"
#include "redis/managed.h"

/* The master, as the Sentinels name it. */
static redisContext *
dial_master(const struct conf *conf, char **ret_message)
{
	struct sentinel_answer *seen = sentinel_query(conf);
	struct sentinel_named named;
	redisContext *redis = NULL;
	if (sentinel_query_agrees(conf, seen, &named))
		redis = dial_tcp(conf, named.host, named.port, ret_message);
	else
		*ret_message = mem_printf("no Sentinel names a master \"%s\"",
		    conf->store.redis.master);
	sentinel_query_free(conf, &seen);
	return redis;
}

redisContext *
dial_redis(const struct conf *conf, char **ret_message)
{
	const struct conf_store *store = &conf->store;
	if (conf_has_sentinels(conf))
		return dial_master(conf, ret_message);
	if (store->redis.managed) {
		char *socket = managed_socket(conf);
		redisContext *redis = dial_unix(conf, socket, ret_message);
		free(socket);
		return redis;
	}
	if (store->redis.address.kind == ADDRESS_UNIX)
		return dial_unix(conf, store->redis.address.host, ret_message);
	return dial_tcp(
	    conf, store->redis.address.host, store->redis.address.port,
	    ret_message);
}
