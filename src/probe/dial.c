/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <sodium.h>
#include <stdlib.h>

#include "base/mem.h"
#include "probe/dial.h"
#include "probe/sentinel_query.h"
#include "redis/managed.h"
#include "redis/resp.h"
#include "redis/secret_write.h"

static struct timeval
limit_of(const struct conf *conf)
{
	int64_t ms = conf->store.timeout_ms;
	return (struct timeval){ms / 1000, ms % 1000 * 1000};
}

/* One that did not come about leaves its words. */
static redisContext *
checked(const struct conf *conf, redisContext *redis, char **ret_message)
{
	if (redis != NULL && redis->err == 0) {
		redisSetTimeout(redis, limit_of(conf));
		return redis;
	}
	*ret_message =
	    mem_str(span_str(redis != NULL ? redis->errstr : "no memory"));
	if (redis != NULL)
		redisFree(redis);
	return NULL;
}

redisContext *
dial_tcp(const struct conf *conf, const char *host, uint16_t port,
    char **ret_message)
{
	return checked(conf,
	    redisConnectWithTimeout(host, port, limit_of(conf)), ret_message);
}

static redisContext *
dial_unix(const struct conf *conf, const char *path, char **ret_message)
{
	return checked(conf,
	    redisConnectUnixWithTimeout(path, limit_of(conf)), ret_message);
}

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
		    conf->store.master);
	sentinel_query_free(conf, &seen);
	return redis;
}

redisContext *
dial_redis(const struct conf *conf, char **ret_message)
{
	const struct conf_store *store = &conf->store;
	if (conf_has_sentinels(conf))
		return dial_master(conf, ret_message);
	if (store->managed) {
		char *socket = managed_socket(conf);
		redisContext *redis = dial_unix(conf, socket, ret_message);
		free(socket);
		return redis;
	}
	if (store->redis.kind == ADDRESS_UNIX)
		return dial_unix(conf, store->redis.host, ret_message);
	return dial_tcp(
	    conf, store->redis.host, store->redis.port, ret_message);
}

redisReply *
dial_accept(const redisContext *redis, redisReply *reply, char **ret_message)
{
	if (reply != NULL && reply->type != REDIS_REPLY_ERROR)
		return reply;
	*ret_message =
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
dial_log_in(const struct conf *conf, redisContext *redis, char **ret_message)
{
	const struct conf_store *store = &conf->store;
	if (store->password == NULL || store->managed)
		return true;
	const char *words[] = {"AUTH", store->user, store->password};
	if (store->user == NULL)
		words[1] = store->password;
	secret_write_begin(redis);
	void *reply = NULL;
	if (append(redis, store->user ? 3 : 2, words)) {
		/* What it leaves, redisGetReply sends, or hears why not. */
		(void)secret_write_send(redis);
		redisGetReply(redis, &reply);
	}
	reply = dial_accept(redis, reply, ret_message);
	freeReplyObject(reply);
	return reply != NULL;
}
