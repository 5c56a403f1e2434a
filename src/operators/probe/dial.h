/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * A connection to Redis that blocks, up to its timeout with each call: for
 * the check at the start, and for commands.  It knows nothing of records.  Any
 * thread that may block, one at a time; the caller frees it.
 */
struct dialled;
struct redisReply;
struct resp;

/*
 * Connects to an address, which may also be a Sentinel's or that of one server
 * of a cluster; NULL, with a message that the caller frees.
 */
struct dialled *dial_tcp(const struct conf_redis *at, const char *host,
    uint16_t port, char **ret_message);
/* The same, to a Unix socket; errno says why not, or 0. */
struct dialled *dial_unix(
    const struct conf_redis *at, const char *path, char **ret_message);
/* Nulls the pointer, accepts NULL. */
void dial_free(struct dialled **dial);
/*
 * Logs in, if there is a password; false, with Redis' error as the message,
 * which the caller frees.
 */
MUST_USE bool dial_log_in(const struct conf_redis *at, struct dialled *dial,
    char **ret_message);

/* Appends a command to what is to be sent. */
void dial_append(struct dialled *dial, const struct resp *command);
/* Sends all of it; false: the connection broke or was too slow. */
bool dial_send(struct dialled *dial);
/*
 * The reply to a command that was appended, which the caller frees; NULL: the
 * connection broke or was too slow, and dial_message says how.
 */
struct redisReply *dial_reply(struct dialled *dial);
/* The same, of a command of these words. */
struct redisReply *dial_ask(
    struct dialled *dial, size_t count, const char **words);
/*
 * Checks a reply: returns it, unless it is NULL or an error.  Then it is freed,
 * NULL returned, and the error is the message, which the caller frees.
 */
struct redisReply *dial_accept(const struct dialled *dial,
    struct redisReply *reply, char **ret_message);

/* Whether the connection broke, and why: it lives as long as the connection. */
bool dial_is_broken(const struct dialled *dial);
const char *dial_message(const struct dialled *dial);
/* What can be read when a reply comes that nothing of has been read. */
int dial_fd(const struct dialled *dial);
