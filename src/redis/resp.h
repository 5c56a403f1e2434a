/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/span.h"

/*
 * A Redis command in the making: arguments of any bytes, each with its
 * length (RESP, the protocol's arrays of bulk strings), so that nothing a
 * client sent can be taken for syntax.  Pure; any thread.
 */
struct resp {
	char *bytes;
	size_t len;
	size_t size;
};

/* An argument of any bytes. */
void resp_arg(struct resp *resp, struct span arg);
/* One argument of several parts. */
void resp_joined(struct resp *resp, const struct span *parts, size_t count);
/* A number, in decimal digits. */
void resp_number(struct resp *resp, int64_t number);
/* Bytes as they stand: the head of a command, or what was made before. */
void resp_bytes(struct resp *resp, struct span bytes);
/* The head of a command of that many arguments. */
void resp_begin(struct resp *resp, size_t count);
/* Frees it; it is empty afterwards. */
void resp_clear(struct resp *resp);

struct redisReply;
/* What TIME answers, in milliseconds; false of any other reply. */
bool resp_read_time(const struct redisReply *reply, int64_t *ret_ms);
/* What was published, of a message to a pattern; false of anything else. */
bool resp_read_message(
    const struct redisReply *reply, struct span *ret_message);
/* The text of a string; empty of any other reply. */
struct span resp_text(const struct redisReply *reply);
