/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/must.h"
#include "base/span.h"
#include "redis/resp.h"

/*
 * What Redis Sentinels say about a master, and which of them to believe.
 * Pure; any thread.
 *
 * Each Sentinel names a master with the epoch of its configuration, a number
 * that every failover raises.  One that was cut off from the others goes on
 * naming the old master, which may still take what is written and will lose
 * it: so the highest epoch counts, whoever says it.
 */
struct redisReply;

enum { SENTINEL_HOST_BYTES = 256 };

/* A master as a Sentinel names it. */
struct sentinel_named {
	char host[SENTINEL_HOST_BYTES]; /* name or address; "": none is named */
	uint16_t port;
	int64_t epoch;
};

/*
 * The two questions, to be sent together: of an answer between which the
 * master moves, the epoch may be too low, never too high.
 */
void sentinel_ask_epoch(struct resp *resp, const char *master);
void sentinel_ask_address(struct resp *resp, const char *master);
/* Their answers; false, with nothing written, where there is no such thing. */
MUST_USE bool sentinel_read_epoch(
    const struct redisReply *reply, int64_t *ret_epoch);
MUST_USE bool sentinel_read_address(const struct redisReply *reply,
    char ret_host[SENTINEL_HOST_BYTES], uint16_t *ret_port);
/* Whether a message of +switch-master is about that master. */
bool sentinel_tells_of(struct span message, const char *master);

bool sentinel_named_is_same(
    const struct sentinel_named *one, const struct sentinel_named *other);
/*
 * The one to believe of what all Sentinels of a configuration say now, one
 * element each, given what was believed before (with host "": nothing);
 * NULL: the same as before.  What is older than that, which is also what an
 * operator brings about who has a master monitored anew, must be said by a
 * majority of all.
 */
const struct sentinel_named *sentinel_choose(const struct sentinel_named *said,
    size_t count, const struct sentinel_named *before);
