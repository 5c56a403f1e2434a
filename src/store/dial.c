/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/mem.h"
#include "store/dial.h"
#include "store/managed.h"

redisContext *
dial_redis(const struct conf *conf)
{
	const struct conf_store *store = &conf->store;
	struct timeval limit = {
	    store->timeout_ms / 1000, store->timeout_ms % 1000 * 1000};
	redisContext *redis;
	if (store->managed) {
		char *socket = managed_socket(conf);
		redis = redisConnectUnixWithTimeout(socket, limit);
		free(socket);
	} else if (store->redis.kind == ADDRESS_UNIX) {
		redis = redisConnectUnixWithTimeout(store->redis.host, limit);
	} else {
		redis = redisConnectWithTimeout(
		    store->redis.host, store->redis.port, limit);
	}
	if (redis != NULL && redis->err == 0)
		redisSetTimeout(redis, limit);
	return redis;
}

redisReply *
dial_accept(const redisContext *redis, redisReply *reply, char **ret_words)
{
	if (reply != NULL && reply->type != REDIS_REPLY_ERROR)
		return reply;
	*ret_words =
	    mem_str(span_str(reply != NULL ? reply->str : redis->errstr));
	freeReplyObject(reply);
	return NULL;
}

bool
dial_log_in(const struct conf *conf, redisContext *redis, char **ret_words)
{
	const struct conf_store *store = &conf->store;
	if (store->password == NULL || store->managed)
		return true;
	redisReply *reply = store->user != NULL
	    ? redisCommand(redis, "AUTH %s %s", store->user, store->password)
	    : redisCommand(redis, "AUTH %s", store->password);
	reply = dial_accept(redis, reply, ret_words);
	freeReplyObject(reply);
	return reply != NULL;
}
