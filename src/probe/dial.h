/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * A connection to Redis that blocks, up to its timeout with each call: for
 * the check at the start, and for commands.  It knows nothing of records.  Any
 * thread that may block; the caller frees the connection (redisFree).
 */
struct redisContext;
struct redisReply;

/*
 * Connects to an address, which may also be a Sentinel's or that of one server
 * of a cluster; NULL, with a message that the caller frees.
 */
struct redisContext *dial_tcp(const struct conf_redis *at, const char *host,
    uint16_t port, char **ret_message);
/* The same, to a Unix socket. */
struct redisContext *dial_unix(
    const struct conf_redis *at, const char *path, char **ret_message);
/*
 * Logs in, if there is a password; false, with Redis' error as the message,
 * which the caller frees.
 */
MUST_USE bool dial_log_in(const struct conf_redis *at,
    struct redisContext *redis, char **ret_message);
/*
 * The reply to a command that was appended, which the caller frees; NULL: the
 * connection broke or was too slow, and redis has the error.
 */
struct redisReply *dial_reply(struct redisContext *redis);
/* The same, of a command of these words. */
struct redisReply *dial_ask(
    struct redisContext *redis, size_t count, const char **words);
/*
 * Checks a reply: returns it, unless it is NULL or an error.  Then it is freed,
 * NULL returned, and the error is the message, which the caller frees.
 */
struct redisReply *dial_accept(const struct redisContext *redis,
    struct redisReply *reply, char **ret_message);
