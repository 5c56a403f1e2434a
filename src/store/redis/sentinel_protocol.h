/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/must.h"
#include "store/redis/resp.h"

/*
 * Reads what Redis Sentinels say about a master, and chooses which of them to
 * believe.  It knows no connection.  Pure; any thread.
 *
 * Each Sentinel names a master together with the epoch of its configuration, a
 * number that every failover raises.  A Sentinel that was cut off from the
 * others goes on naming the old master, which may still accept writes and will
 * lose them: so the highest epoch counts, whoever says it.
 */
struct redisReply;

enum { SENTINEL_HOST_BYTES = 256 };

/* A master as a Sentinel names it. */
struct sentinel_named {
	char host[SENTINEL_HOST_BYTES]; /* name or address; "": it names none */
	uint16_t port;
	int64_t epoch;
};

/*
 * The two questions, to be sent together.  Where the master moves between their
 * answers, the epoch may be too low, but never too high.
 */
enum sentinel_question { SENTINEL_EPOCH, SENTINEL_ADDRESS };
void sentinel_protocol_ask(
    struct resp *resp, enum sentinel_question question, const char *master);
/*
 * Reads their answers; false, with nothing written, where a reply is not one.
 */
MUST_USE bool sentinel_protocol_read_epoch(
    const struct redisReply *reply, int64_t *ret_epoch);
MUST_USE bool sentinel_protocol_read_address(const struct redisReply *reply,
    char ret_host[SENTINEL_HOST_BYTES], uint16_t *ret_port);

/* The same host and port; the epoch does not count. */
bool sentinel_protocol_named_is_same(
    const struct sentinel_named *one, const struct sentinel_named *other);
/*
 * Chooses whom to believe: said has the answers of all Sentinels of a
 * configuration, before the one believed so far (host "": none).  NULL: nothing
 * changes.  A master with no higher epoch than before (an operator has had the
 * master monitored anew) must be named by a majority of all.
 */
const struct sentinel_named *sentinel_protocol_choose(
    const struct sentinel_named *said, size_t count,
    const struct sentinel_named *before);
