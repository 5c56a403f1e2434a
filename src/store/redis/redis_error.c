/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <string.h>

#include "store/redis/redis_error.h"

static const struct {
	const char *word;
	unsigned properties;
} errors[] = {
    [REDIS_ERROR_OTHER] = {"", 0},
#define REDIS_ERROR(name, word, properties)                                   \
	[REDIS_ERROR_##name] = {word, properties},
#include "tbl/redis_errors.h"
#undef REDIS_ERROR
    [REDIS_ERROR_NO_FUNCTION] = {"", REDIS_NOT_RUN},
    [REDIS_ERROR_LIBRARY_EXISTS] = {"", 0},
};

enum redis_error
redis_error_of(struct span error)
{
	const struct span exists = SPAN(" already exists");
	struct span rest = error, word;
	if (!span_next(&rest, ' ', &word) || word.len == 0)
		return REDIS_ERROR_OTHER;
	if (span_eq(error, SPAN("ERR Function not found")))
		return REDIS_ERROR_NO_FUNCTION;
	if (span_starts(error, SPAN("ERR Library ")) &&
	    error.len >= exists.len &&
	    span_eq(span_from(error, error.len - exists.len), exists))
		return REDIS_ERROR_LIBRARY_EXISTS;
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (span_eq(word, span_str(errors[i].word)))
			return (enum redis_error)i;
	return REDIS_ERROR_OTHER;
}

/* "NOAUTH …", "WRONGPASS …", "ERR AUTH …", "ERR Client sent AUTH, but …". */
bool
redis_error_is_login(struct span message)
{
	return redis_error_of(message) == REDIS_ERROR_WRONGPASS ||
	    (message.len > 0 &&
		memmem(message.ptr, message.len, "AUTH", 4) != NULL);
}

enum redis_error
redis_error_of_reply(const redisReply *reply)
{
	if (reply == NULL || reply->type != REDIS_REPLY_ERROR)
		return REDIS_ERROR_OTHER;
	return redis_error_of(span_of(reply->str, reply->len));
}

bool
redis_error_is(enum redis_error error, enum redis_error_property property)
{
	return (errors[error].properties & property) != 0;
}
