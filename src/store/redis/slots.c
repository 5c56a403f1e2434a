/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/mem.h"
#include "store/redis/info.h"
#include "store/redis/redis_error.h"
#include "store/redis/resp.h"
#include "store/redis/slots.h"

enum {
	CRC_POLYNOMIAL = 0x1021, /* CRC-16/XMODEM */
	ADDRESSES_MAX = 4096, /* Redis aims at a thousand */
};

unsigned
slots_of_tag(struct span tag)
{
	uint16_t crc = 0;
	for (size_t i = 0; i < tag.len; i++) {
		crc = (uint16_t)(crc ^ (uint8_t)tag.ptr[i] << 8);
		for (int bit = 0; bit < 8; bit++)
			crc = (uint16_t)(crc & 0x8000
				? crc << 1 ^ CRC_POLYNOMIAL
				: crc << 1);
	}
	return crc % SLOTS;
}

unsigned
slots_of_shard(unsigned shard)
{
	char digits[DIGITS_MAX];
	return slots_of_tag(span_of(digits, digits_put(digits, shard)));
}

/* --- whose slots they are --- */

/*
 * Adds a server by the first of the two names that is a host's, else by that of
 * the server that answered.  Its index of addresses plus 1; 0: there are too
 * many.
 */
static uint16_t
add_server(struct slots *slots, const redisReply *name,
    const redisReply *address, long long port,
    const struct redis_address *asked)
{
	struct span host = span_str(asked->host);
	if (name != NULL && redis_address_is_host(resp_text(name)))
		host = resp_text(name);
	else if (address != NULL && redis_address_is_host(resp_text(address)))
		host = resp_text(address);
	for (size_t i = 0; i < slots->count; i++) {
		const struct redis_address *known = &slots->addresses[i];
		if (known->port == port &&
		    span_eq(span_str(known->host), host))
			return (uint16_t)(i + 1);
	}
	if (slots->count == ADDRESSES_MAX)
		return 0;
	slots->addresses = mem_grow(
	    slots->addresses, (slots->count + 1) * sizeof *slots->addresses);
	slots->addresses[slots->count++] =
	    (struct redis_address){mem_str(host), (uint16_t)port};
	return (uint16_t)slots->count;
}

/* One shard's ranges of slots, and its servers. */
static bool
read_shard(struct slots *slots, const redisReply *shard,
    const struct redis_address *asked, bool tls)
{
	const redisReply *ranges = resp_member(shard, SPAN("slots"));
	const redisReply *nodes = resp_member(shard, SPAN("nodes"));
	uint16_t master = 0;
	if (ranges == NULL || nodes == NULL ||
	    ranges->type != REDIS_REPLY_ARRAY ||
	    nodes->type != REDIS_REPLY_ARRAY || ranges->elements % 2 != 0)
		return false;
	for (size_t i = 0; i < nodes->elements; i++) {
		const redisReply *node = nodes->element[i];
		if (node->type != REDIS_REPLY_ARRAY || node->elements < 2)
			return false;
		const redisReply *role = resp_member(node, SPAN("role"));
		const redisReply *port = resp_member(
		    node, tls ? SPAN("tls-port") : SPAN("port"));
		if (port == NULL || port->type != REDIS_REPLY_INTEGER ||
		    port->integer <= 0 || port->integer > UINT16_MAX)
			continue; /* it has none of that kind */
		uint16_t owner = add_server(slots,
		    resp_member(node, SPAN("endpoint")),
		    resp_member(node, SPAN("ip")), port->integer, asked);
		if (role != NULL && span_eq(resp_text(role), SPAN("master")))
			master = owner;
	}
	for (size_t i = 0; i < ranges->elements; i += 2) {
		const redisReply *from = ranges->element[i];
		const redisReply *to = ranges->element[i + 1];
		if (from->type != REDIS_REPLY_INTEGER ||
		    to->type != REDIS_REPLY_INTEGER || from->integer < 0 ||
		    to->integer >= SLOTS || master == 0)
			return false;
		for (long long at = from->integer; at <= to->integer; at++) {
			if (slots->owner[at] != 0)
				return false; /* it is named twice */
			slots->owner[at] = master;
		}
	}
	return true;
}

bool
slots_read(const redisReply *reply, const struct redis_address *asked,
    bool tls, struct slots *ret_slots)
{
	if (reply->type != REDIS_REPLY_ARRAY)
		return false;
	*ret_slots = (struct slots){0};
	for (size_t i = 0; i < reply->elements; i++) {
		if (read_shard(ret_slots, reply->element[i], asked, tls))
			continue;
		slots_clear(ret_slots);
		return false;
	}
	return true;
}

void
slots_clear(struct slots *slots)
{
	for (size_t i = 0; i < slots->count; i++)
		redis_address_clear(&slots->addresses[i]);
	free(slots->addresses);
	slots->addresses = NULL;
	slots->count = 0;
}

bool
slots_serve(struct span info)
{
	return span_eq(info_value(info, SPAN("cluster_state")), SPAN("ok"));
}

/* --- where a key is --- */

bool
slots_redirect_read(struct span error, const struct redis_address *asked,
    struct slots_redirect *ret_redirect)
{
	enum redis_error kind = redis_error_of(error);
	struct span word, slot, where, host;
	int64_t number;
	uint16_t port;
	if (kind != REDIS_ERROR_ASK && kind != REDIS_ERROR_MOVED)
		return false;
	if (!span_next(&error, ' ', &word) || !span_next(&error, ' ', &slot) ||
	    !span_next(&error, ' ', &where) ||
	    !digits_read(slot, SLOTS - 1, &number) ||
	    !redis_address_split(where, &host, &port))
		return false;
	if (!redis_address_is_host(host))
		host = span_str(asked->host);
	*ret_redirect = (struct slots_redirect){
	    .ask = kind == REDIS_ERROR_ASK,
	    .slot = (unsigned)number,
	    .address = {mem_str(host), port},
	};
	return true;
}
