/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"
#include "redis/sentinel.h"

/*
 * What each Sentinel of a configuration says now, asked once and one after
 * the other: for what is done before the gateway serves, and for commands.  It
 * blocks, for a few times store.timeout with each; any thread that may.
 */
struct sentinel_answer {
	struct sentinel_named named;
	char *message; /* why it names none; NULL where it does */
};

/* One for each, in the order of the file. */
struct sentinel_answer *sentinel_query(const struct conf *conf);
/* What they say together; false: none of them names a master. */
MUST_USE bool sentinel_query_agrees(const struct conf *conf,
    const struct sentinel_answer *seen, struct sentinel_named *ret_named);
/* Nulls the caller's pointer, accepts NULL. */
void sentinel_query_free(
    const struct conf *conf, struct sentinel_answer **seen);
