/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <sodium.h>
#include <stdlib.h>

#include "base/mem.h"
#include "store/dial.h"
#include "store/login.h"
#include "store/managed.h"
#include "store/resp.h"

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

/* Puts a command behind what is to be sent, and leaves no copies of it. */
static bool
append(redisContext *redis, size_t count, const char *const *words)
{
	struct resp command = {0};
	resp_begin(&command, count);
	for (size_t i = 0; i < count; i++)
		resp_arg(&command, span_str(words[i]));
	bool ok = redisAppendFormattedCommand(
		      redis, command.bytes, command.len) == REDIS_OK;
	sodium_memzero(command.bytes, command.len);
	resp_clear(&command);
	return ok;
}

bool
dial_log_in(const struct conf *conf, redisContext *redis, char **ret_words)
{
	const struct conf_store *store = &conf->store;
	if (store->password == NULL || store->managed)
		return true;
	const char *words[] = {"AUTH", store->user, store->password};
	if (store->user == NULL)
		words[1] = store->password;
	login_begin(redis);
	void *reply = NULL;
	if (append(redis, store->user ? 3 : 2, words)) {
		/* What it leaves, redisGetReply sends, or hears why not. */
		(void)login_send(redis);
		redisGetReply(redis, &reply);
	}
	reply = dial_accept(redis, reply, ret_words);
	freeReplyObject(reply);
	return reply != NULL;
}
