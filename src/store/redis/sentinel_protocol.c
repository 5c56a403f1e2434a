/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>

#include "base/digits.h"
#include "base/test_build.h"
#include "store/redis/redis_address.h"
#include "store/redis/sentinel_protocol.h"

void
sentinel_protocol_ask(
    struct resp *resp, enum sentinel_question question, const char *master)
{
	resp_begin(resp, 3);
	resp_arg(resp, SPAN("SENTINEL"));
	resp_arg(resp, question == SENTINEL_EPOCH
		? SPAN("MASTER")
		: SPAN("GET-MASTER-ADDR-BY-NAME"));
	resp_arg(resp, span_str(master));
}

/* --- answers --- */

bool
sentinel_protocol_read_epoch(const redisReply *reply, int64_t *ret_epoch)
{
	const redisReply *epoch = resp_member(reply, SPAN("config-epoch"));
	return epoch != NULL &&
	    digits_read(resp_text(epoch), INT64_MAX, ret_epoch);
}

bool
sentinel_protocol_read_address(const redisReply *reply,
    char ret_host[SENTINEL_HOST_BYTES], uint16_t *ret_port)
{
	int64_t port;
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
	    !redis_address_is_host(resp_text(reply->element[0])) ||
	    !digits_read(resp_text(reply->element[1]), UINT16_MAX, &port) ||
	    port == 0)
		return false;
	memcpy(ret_host, reply->element[0]->str, reply->element[0]->len);
	ret_host[reply->element[0]->len] = '\0';
	*ret_port = (uint16_t)port;
	return true;
}

/* --- whom to believe --- */

bool
sentinel_protocol_named_is_same(
    const struct sentinel_named *one, const struct sentinel_named *other)
{
	return one->port == other->port && !strcmp(one->host, other->host);
}

const struct sentinel_named *
sentinel_protocol_choose(const struct sentinel_named *said, size_t count,
    const struct sentinel_named *before)
{
	const struct sentinel_named *best = NULL;
	size_t best_voices = 0;
	for (size_t i = 0; i < count; i++) {
		if (said[i].host[0] == '\0')
			continue;
		size_t voices = 0;
		for (size_t k = 0; k < count; k++)
			voices += sentinel_protocol_named_is_same(
			    &said[k], &said[i]);
		if (best == NULL || said[i].epoch > best->epoch ||
		    (said[i].epoch == best->epoch && voices > best_voices)) {
			best = &said[i];
			best_voices = voices;
		}
	}
	if (best == NULL || before->host[0] == '\0' ||
	    best->epoch > before->epoch || !INVARIANT(newest_master))
		return best;
	return !sentinel_protocol_named_is_same(best, before) &&
		best_voices > count / 2
	    ? best
	    : NULL;
}
