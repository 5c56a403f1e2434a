/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/redis/resp.h"
#include "store/redis/sha1.h"

/*
 * The scripts of a stream's reader, src/store/record/lua/stream_NAME.lua each,
 * which say what they take and answer.  They run in the broker's Redis, which
 * knows each by its SHA-1 once it has had its text.  Pure but for what a reader
 * remembers of that.
 */
enum streams_script {
	STREAMS_SCRIPT_GROUP,
	STREAMS_SCRIPT_ORIGIN,
	STREAMS_SCRIPT_TAKE,
	STREAMS_SCRIPT_CLAIM,
	STREAMS_SCRIPT_BEAT,
	STREAMS_SCRIPT_PUT,
	STREAMS_SCRIPT_MARK,
	STREAMS_SCRIPT_MISSING,
	STREAMS_SCRIPT_COPIES,
	STREAMS_SCRIPT_COUNT_,
};

struct streams_scripts {
	char sha[STREAMS_SCRIPT_COUNT_][SHA1_HEX + 1];
	bool known[STREAMS_SCRIPT_COUNT_]; /* to Redis, since it was sent */
};

void streams_script_init(struct streams_scripts *scripts);
/* Another connection is up, or Redis has said NOSCRIPT. */
void streams_script_forget(struct streams_scripts *scripts);
/*
 * Begins the command: its two keys (the second one's ptr NULL: one) are in it,
 * and n_args arguments follow.
 */
void streams_script_begin(struct streams_scripts *scripts,
    enum streams_script script, struct span key, struct span other_key,
    size_t n_args, struct resp *ret_command);
