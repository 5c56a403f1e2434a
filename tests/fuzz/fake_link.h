/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/call.h"
#include "store/redis/link.h"

/*
 * In place of src/store/redis/link.c, for the target store: connections to
 * servers that say what the target wants.  Commands wait for their replies in
 * order; the target delivers one after the other.  It reads no command further
 * than to know its kind.
 */
enum command {
	COMMAND_INFO,
	COMMAND_CLUSTER_INFO,
	COMMAND_CLUSTER_SHARDS,
	COMMAND_SCRIPT, /* EVALSHA, EVAL or FCALL: its call is a store_call */
	COMMAND_BATCH,  /* likewise, but it is of several (store/batch.h) */
	COMMAND_ASKING,
	COMMAND_OTHER,
};

/* The n-th link (or of as many as have one) with a command; NULL: none has. */
struct link *fake_link_asked(size_t n);
/* Its next command, and whose it is. */
enum command fake_link_command(const struct link *link);
struct store_call *fake_link_call(const struct link *link);
/*
 * The reply to its next command, to be freed by the caller.  NULL, for a batch:
 * each of its calls is to come by itself.
 */
void fake_link_reply(struct link *link, const struct redisReply *reply);

/* Links that are down come up, those to a server that is away fail. */
bool fake_link_connect(void);
/* The connection breaks; away: and its server stays out of reach. */
void fake_link_cut(struct link *link, bool away);
/* From now on all servers, and those that will be named, are out of reach. */
void fake_link_end_all(void);
/* Before a run, and after it: no link is left. */
void fake_link_begin(void);
