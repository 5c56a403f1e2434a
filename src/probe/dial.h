/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * A connection to Redis that blocks, for a time of store.timeout at most with
 * each call: for what is asked before the gateway serves, and by commands.
 * It knows nothing of records.  Any thread that may block.
 */
struct redisContext;
struct redisReply;

/*
 * Connects to an address, also of a Sentinel or one server of a cluster; NULL
 * with a message why not, which the caller frees.
 */
struct redisContext *dial_tcp(const struct conf *conf, const char *host,
    uint16_t port, char **ret_message);
/* The same, to a Unix socket. */
struct redisContext *dial_unix(
    const struct conf *conf, const char *path, char **ret_message);
/* Logs in, where there is a password; false with Redis' words, which the
 * caller frees. */
MUST_USE bool dial_log_in(const struct conf *conf,
    struct redisContext *redis, char **ret_message);
/*
 * Takes a reply over: it comes back unless it is NULL or an error, which is
 * freed and leaves its words, which the caller frees.
 */
struct redisReply *dial_accept(const struct redisContext *redis,
    struct redisReply *reply, char **ret_message);
