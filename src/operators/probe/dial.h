/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"
#include "store/redis/resp.h"

/*
 * A link (store/redis/link.h) that is waited for: for the check at the start
 * and for commands, which have no loop.  It is logged in, and no more; where it
 * is lost it is not made again.  It knows nothing of records.  Any thread that
 * may block, one at a time.
 */
struct dialled;
struct redisReply;

/*
 * Connects to an address, which may be that of one server of a cluster; NULL,
 * with a message that the caller frees.
 */
struct dialled *dial_tcp(const struct conf *conf, const struct conf_redis *at,
    const char *host, uint16_t port, char **ret_message);
struct dialled *dial_unix(const struct conf *conf, const struct conf_redis *at,
    const char *path, char **ret_message);
/* To a Sentinel, which may want no password. */
struct dialled *dial_sentinel(const struct conf *conf,
    const struct conf_redis *at, const char *host, uint16_t port,
    char **ret_message);
/* Nulls the pointer, accepts NULL. */
void dial_free(struct dialled **dial);

/* Sends a command whose reply is asked for later, in the order of commands. */
void dial_send(struct dialled *dial, const struct resp *command);
/*
 * The next reply, errors included; NULL: the connection broke, or was silent
 * for its timeout.  It lives until the next one is asked for.
 */
const struct redisReply *dial_reply(struct dialled *dial);
/* Sends a command of these words, and waits for its reply. */
const struct redisReply *dial_ask(
    struct dialled *dial, size_t count, const char *const *words);
#define DIAL_ASK(dial, ...) \
	dial_ask(dial, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), \
	    (const char *[]){__VA_ARGS__})
/*
 * Checks a reply: returns it, unless it is NULL or an error.  Then the error is
 * the message, which the caller frees.
 */
const struct redisReply *dial_accept(const struct dialled *dial,
    const struct redisReply *reply, char **ret_message);

/* Whether the connection broke, and why: it lives as long as the connection. */
bool dial_is_broken(const struct dialled *dial);
const char *dial_message(const struct dialled *dial);
