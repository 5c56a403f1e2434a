/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/mem.h"
#include "store/redis/redis_clock.h"
#include "store/redis/resp.h"

enum {
	LEAST_BYTES = 2048, /* most commands fit */
	COUNT_BYTES = 1 + DIGITS_MAX + 2, /* its kind, digits, end of line */
};

/*
 * So many of that size wait in each thread for the next commands.  A sanitizer
 * is to see every one of them freed.
 */
#ifdef __SANITIZE_ADDRESS__
static const unsigned spare_max = 0;
#else
static const unsigned spare_max = 64;
#endif

static _Thread_local struct {
	char *bytes[64];
	unsigned count;
} spare;

void
resp_trim(void)
{
	while (spare.count > 0)
		free(spare.bytes[--spare.count]);
}

/* Makes room for so many more bytes. */
static void
reserve_room(struct resp *resp, size_t more)
{
	if (more <= resp->size - resp->len)
		return;
	if (resp->size == 0 && more <= LEAST_BYTES && spare.count > 0) {
		resp->bytes = spare.bytes[--spare.count];
		resp->size = LEAST_BYTES;
		return;
	}
	size_t size = resp->size ? 2 * resp->size : LEAST_BYTES;
	if (size < resp->len + more)
		size = resp->len + more;
	resp->bytes = mem_grow(resp->bytes, size);
	resp->size = size;
}

/* Into room that is reserved, as the next. */
static void
put_bytes(struct resp *resp, struct span bytes)
{
	if (bytes.len > 0)
		memcpy(resp->bytes + resp->len, bytes.ptr, bytes.len);
	resp->len += bytes.len;
}

/* Makes room for so many bytes behind it, too. */
static void
put_count(struct resp *resp, char kind, size_t count, size_t more)
{
	reserve_room(resp, COUNT_BYTES + more);
	resp->bytes[resp->len++] = kind;
	resp->len += digits_put(resp->bytes + resp->len, (int64_t)count);
	put_bytes(resp, SPAN("\r\n"));
}

void
resp_bytes(struct resp *resp, struct span bytes)
{
	reserve_room(resp, bytes.len);
	put_bytes(resp, bytes);
}

void
resp_begin(struct resp *resp, size_t count)
{
	put_count(resp, '*', count, 0);
}

void
resp_arg(struct resp *resp, struct span arg)
{
	put_count(resp, '$', arg.len, arg.len + 2);
	put_bytes(resp, arg);
	put_bytes(resp, SPAN("\r\n"));
}

size_t
resp_joined(struct resp *resp, const struct span *parts, size_t count)
{
	size_t len = 0;
	for (size_t i = 0; i < count; i++)
		len += parts[i].len;
	put_count(resp, '$', len, len + 2);
	size_t at = resp->len;
	for (size_t i = 0; i < count; i++)
		put_bytes(resp, parts[i]);
	put_bytes(resp, SPAN("\r\n"));
	return at;
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
	if (resp->size == LEAST_BYTES && spare.count < spare_max)
		spare.bytes[spare.count++] = resp->bytes;
	else
		free(resp->bytes);
	*resp = (struct resp){0};
}

bool
resp_read_time(const redisReply *reply, int64_t *ret_ms)
{
	int64_t s, us;
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
	    !digits_read(resp_text(reply->element[0]),
		REDIS_CLOCK_MAX_MS / 1000, &s) ||
	    !digits_read(resp_text(reply->element[1]), 999999, &us))
		return false;
	*ret_ms = s * 1000 + us / 1000;
	return true;
}

const redisReply *
resp_member(const redisReply *reply, struct span name)
{
	if (reply == NULL || reply->type != REDIS_REPLY_ARRAY)
		return NULL;
	for (size_t i = 0; i + 1 < reply->elements; i += 2)
		if (span_eq(resp_text(reply->element[i]), name))
			return reply->element[i + 1];
	return NULL;
}

redisReply *
resp_copy(const redisReply *reply)
{
	redisReply *copy = mem_zero(sizeof *copy);
	copy->type = reply->type;
	copy->integer = reply->integer;
	copy->len = reply->len;
	if (reply->str != NULL)
		copy->str = mem_str(span_of(reply->str, reply->len));
	if (reply->type != REDIS_REPLY_ARRAY)
		return copy;
	copy->elements = reply->elements;
	copy->element = mem_zero((reply->elements + 1) * sizeof copy);
	for (size_t i = 0; i < reply->elements; i++)
		copy->element[i] = resp_copy(reply->element[i]);
	return copy;
}

struct span
resp_text(const redisReply *reply)
{
	if (reply->type != REDIS_REPLY_STRING)
		return SPAN("");
	return span_of(reply->str, reply->len);
}
