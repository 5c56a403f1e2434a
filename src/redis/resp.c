/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/mem.h"
#include "redis/redis_clock.h"
#include "redis/resp.h"

enum { LEAST_BYTES = 512 };

void
resp_bytes(struct resp *resp, struct span bytes)
{
	if (bytes.len > resp->size - resp->len) {
		size_t size = resp->size ? 2 * resp->size : LEAST_BYTES;
		if (size < resp->len + bytes.len)
			size = resp->len + bytes.len;
		resp->bytes = mem_grow(resp->bytes, size);
		resp->size = size;
	}
	if (bytes.len > 0)
		memcpy(resp->bytes + resp->len, bytes.ptr, bytes.len);
	resp->len += bytes.len;
}

static void
put_count(struct resp *resp, char kind, size_t count)
{
	char text[1 + DIGITS_MAX + 2] = {kind};
	size_t len = 1 + digits_put(text + 1, (int64_t)count);
	text[len++] = '\r';
	text[len++] = '\n';
	resp_bytes(resp, span_of(text, len));
}

void
resp_begin(struct resp *resp, size_t count)
{
	put_count(resp, '*', count);
}

void
resp_arg(struct resp *resp, struct span arg)
{
	put_count(resp, '$', arg.len);
	resp_bytes(resp, arg);
	resp_bytes(resp, SPAN("\r\n"));
}

void
resp_joined(struct resp *resp, const struct span *parts, size_t count)
{
	size_t len = 0;
	for (size_t i = 0; i < count; i++)
		len += parts[i].len;
	put_count(resp, '$', len);
	for (size_t i = 0; i < count; i++)
		resp_bytes(resp, parts[i]);
	resp_bytes(resp, SPAN("\r\n"));
}

void
resp_number(struct resp *resp, int64_t number)
{
	char text[DIGITS_MAX];
	resp_arg(resp, span_of(text, digits_put(text, number)));
}

void
resp_clear(struct resp *resp)
{
	free(resp->bytes);
	*resp = (struct resp){0};
}

bool
resp_read_time(const struct redisReply *reply, int64_t *ret_ms)
{
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
	    reply->element[0]->type != REDIS_REPLY_STRING ||
	    reply->element[1]->type != REDIS_REPLY_STRING)
		return false;
	int64_t seconds = strtoll(reply->element[0]->str, NULL, 10);
	int64_t us = strtoll(reply->element[1]->str, NULL, 10);
	if (seconds < 0 || seconds > REDIS_CLOCK_MAX_MS / 1000 || us < 0 ||
	    us >= 1000 * 1000)
		return false;
	*ret_ms = seconds * 1000 + us / 1000;
	return true;
}

/* "pmessage", pattern, channel, message. */
bool
resp_read_message(const struct redisReply *reply, struct span *ret_message)
{
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 4 ||
	    reply->element[3]->type != REDIS_REPLY_STRING)
		return false;
	*ret_message =
	    span_of(reply->element[3]->str, reply->element[3]->len);
	return true;
}

struct span
resp_text(const redisReply *reply)
{
	if (reply->type != REDIS_REPLY_STRING)
		return SPAN("");
	return span_of(reply->str, reply->len);
}
