/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

#include "base/span.h"

/*
 * The meaning that an error reply of Redis has for us (tbl/redis_errors.h).
 * Its first word tells, and this is the one place that knows those words.
 * Pure; any thread.
 */
enum redis_error {
	REDIS_ERROR_OTHER, /* unknown to us, or no error at all */
#define REDIS_ERROR(name, word, properties) REDIS_ERROR_##name,
#include "tbl/redis_errors.h"
#undef REDIS_ERROR
	/* Two that begin with ERR as many do, known by their whole text. */
	REDIS_ERROR_NO_FUNCTION,    /* of FCALL: nothing has run */
	REDIS_ERROR_LIBRARY_EXISTS, /* of FUNCTION LOAD */
};

/* Of the text of an error, without RESP's leading "-". */
enum redis_error redis_error_of(struct span error);

/* Of an error or another reason: Redis does not accept our login. */
bool redis_error_is_login(struct span message);

struct redisReply;
/* Of a reply; REDIS_ERROR_OTHER where it is NULL or is no error. */
enum redis_error redis_error_of_reply(const struct redisReply *reply);

/* What follows from an error, as tbl/redis_errors.h explains it. */
enum redis_error_property {
	REDIS_NOT_RUN = 1,
	REDIS_ONLY_READS = 2,
	REDIS_MOVES = 4,
	REDIS_REFUSES = 8,
};
bool redis_error_is(
    enum redis_error error, enum redis_error_property property);
