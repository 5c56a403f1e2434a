/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/span.h"

/*
 * Builds Redis commands and reads a few simple replies.  A command is an array
 * of bulk strings (RESP, the Redis serialization protocol), each with its
 * length, so that nothing a client sent can be taken for syntax.  Begin one as
 * {0}, then resp_begin and that many arguments; resp_clear frees it.  It knows
 * no connection.  Any thread.
 */
struct resp {
	char *bytes;
	size_t len;
	size_t size;
};

/* An argument of any bytes. */
void resp_arg(struct resp *resp, struct span arg);
/* One argument, put together of several parts; returns at which offset. */
size_t resp_joined(struct resp *resp, const struct span *parts, size_t count);
/* A number, in decimal digits. */
void resp_number(struct resp *resp, int64_t number);
/* Bytes as they are: parts of a command that were built before. */
void resp_bytes(struct resp *resp, struct span bytes);
/* Begins a command of that many arguments, its name included. */
void resp_begin(struct resp *resp, size_t count);
/* Frees it; it is empty then.  Set len to 0 to keep its room. */
void resp_clear(struct resp *resp);
/* Frees what this thread keeps for commands to come; for one that ends. */
void resp_trim(void);

struct redisReply;
/* Reads a reply of TIME, in milliseconds since 1970; false: it is none. */
bool resp_read_time(const struct redisReply *reply, int64_t *ret_ms);
/*
 * The value behind a name, in an array of names and values by turns, as RESP2
 * sends a map; NULL: there is none, or the reply is no array, or NULL.
 */
const struct redisReply *resp_member(
    const struct redisReply *reply, struct span name);
/* A copy of all of it, which the caller frees with freeReplyObject(). */
struct redisReply *resp_copy(const struct redisReply *reply);
/* The text of a string reply, pointing into it; empty for any other reply. */
struct span resp_text(const struct redisReply *reply);
