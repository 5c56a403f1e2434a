/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"
#include "store/redis/sentinel_protocol.h"

/*
 * Asks each Sentinel of a Redis once, one after the other, what it says
 * now: for the check at the start, and for commands.  It knows no records.  It
 * blocks, for a few times store.timeout with each; any thread that may.
 */
struct sentinel_answer {
	struct sentinel_named named;
	char *message; /* why it names none; NULL: it does */
};

/*
 * One answer each, in the order of store.sentinels; sentinel_query_free frees
 * them.
 */
struct sentinel_answer *sentinel_query(const struct conf_redis *at);
/*
 * The one to believe of what they say (redis/sentinel_protocol.h); false: none
 * of them names a master.
 */
MUST_USE bool sentinel_query_agrees(const struct conf_redis *at,
    const struct sentinel_answer *seen, struct sentinel_named *ret_named);
/* Nulls the caller's pointer, accepts NULL. */
void sentinel_query_free(
    const struct conf_redis *at, struct sentinel_answer **seen);
