/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "loop/clock.h"
#include "probe/dial.h"
#include "redis/reply_reader.h"
#include "redis/resp.h"
#include "redis/secret_write.h"

/* The longest that a reply may take that comes in drops. */
enum { REPLY_MOST_S = 30 };

static struct timeval
limit_of(const struct conf_redis *at)
{
	int64_t ms = at->timeout_ms;
	return (struct timeval){ms / 1000, ms % 1000 * 1000};
}

/* A failed connection is freed, and leaves its error as the message. */
static redisContext *
checked(const struct conf_redis *at, redisContext *redis, char **ret_message)
{
	if (redis != NULL && redis->err == 0) {
		redisSetTimeout(redis, limit_of(at));
		reply_reader_guard(redis->reader);
		return redis;
	}
	*ret_message =
	    mem_str(span_str(redis != NULL ? redis->errstr : "out of memory"));
	if (redis != NULL)
		redisFree(redis);
	return NULL;
}

redisContext *
dial_tcp(const struct conf_redis *at, const char *host, uint16_t port,
    char **ret_message)
{
	return checked(at,
	    redisConnectWithTimeout(host, port, limit_of(at)), ret_message);
}

redisContext *
dial_unix(const struct conf_redis *at, const char *path, char **ret_message)
{
	return checked(at,
	    redisConnectUnixWithTimeout(path, limit_of(at)), ret_message);
}

static bool
is_late(redisContext *redis, int64_t began_us)
{
	if (clock_us() - began_us < REPLY_MOST_S * (int64_t)1000000)
		return false;
	redis->err = REDIS_ERR_OTHER;
	snprintf(redis->errstr, sizeof redis->errstr,
	    "its reply was not complete after %d seconds", REPLY_MOST_S);
	return true;
}

/* Each turn of these loops blocks for store.timeout at most. */
redisReply *
dial_reply(redisContext *redis)
{
	int64_t began_us = clock_us();
	void *reply = NULL;
	for (int sent = 0; !sent;)
		if (is_late(redis, began_us) ||
		    redisBufferWrite(redis, &sent) != REDIS_OK)
			return NULL;
	while (redisGetReplyFromReader(redis, &reply) == REDIS_OK &&
	    reply == NULL)
		if (is_late(redis, began_us) ||
		    redisBufferRead(redis) != REDIS_OK)
			return NULL;
	return reply;
}

redisReply *
dial_ask(redisContext *redis, size_t count, const char **words)
{
	return redisAppendCommandArgv(redis, (int)count, words, NULL) ==
		REDIS_OK
	    ? dial_reply(redis)
	    : NULL;
}

redisReply *
dial_accept(const redisContext *redis, redisReply *reply, char **ret_message)
{
	if (reply != NULL && reply->type != REDIS_REPLY_ERROR)
		return reply;
	/* The parser was not let have memory for what was only announced. */
	const char *error = redis->err == REDIS_ERR_OOM
	    ? "it sent what cannot be its reply"
	    : redis->errstr;
	*ret_message = mem_str(span_str(reply != NULL ? reply->str : error));
	freeReplyObject(reply);
	return NULL;
}

/* Appends a command to what is to be sent, and leaves no other copy of it. */
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
dial_log_in(const struct conf_redis *at, redisContext *redis,
    char **ret_message)
{
	if (at->password == NULL || at->managed)
		return true;
	const char *words[] = {"AUTH", at->user, at->password};
	if (at->user == NULL)
		words[1] = at->password;
	secret_write_begin(redis);
	void *reply = NULL;
	if (append(redis, at->user ? 3 : 2, words)) {
		/* dial_reply sends the rest, or finds out why it cannot. */
		(void)secret_write_send(redis);
		reply = dial_reply(redis);
	}
	reply = dial_accept(redis, reply, ret_message);
	freeReplyObject(reply);
	return reply != NULL;
}
