/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/digits.h"
#include "base/mem.h"
#include "store/redis/reply_reader.h"

enum {
	/* Of a line: errors are the longest. */
	LINE_MAX_BYTES = 64 * 1024,
	/* Of a reply: the longest has a stored answer (max_response_body). */
	REPLY_MAX_BYTES = 288 * 1024 * 1024,
	/* Of a reply, in all arrays: the longest lists a cluster's slots. */
	REPLY_MAX_ELEMENTS = 512 * 1024,
	/* Arrays in arrays; hiredis before 1.0 has this limit, too. */
	REPLY_MAX_DEPTH = 8,
	ROOM_FIRST = 16, /* elements for which an array has room at first */
};

struct reply_reader {
	redisReader *parser;
	struct arena *arena; /* of the reply that is read next; or NULL */
	struct arena *given; /* of the one that was returned last; or NULL */
	size_t bytes;    /* taken in since the last whole reply */
	size_t elements; /* announced since then */
	const char *fault;
};

static const char too_large[] = "a reply larger than any that was asked for";
static const char no_memory[] = "out of memory";
static const char wrong_type[] = "a reply of a type that was not asked for";

/* --- making replies --- */

/*
 * Ends the parser: it takes it for a lack of memory.  A task's privdata is its
 * reader.
 */
static void *
reject_reply(const redisReadTask *task, const char *fault)
{
	struct reply_reader *reader = task->privdata;
	reader->fault = fault;
	return NULL;
}

/* Appends it to the array that it is part of, which grows as they come. */
static redisReply *
make(const redisReadTask *task, int type)
{
	struct reply_reader *reader = task->privdata;
	redisReply *reply = arena_alloc(reader->arena, sizeof *reply);
	reply->type = type;
	if (task->parent == NULL)
		return reply;
	redisReply *array = task->parent->obj;
	size_t count = array->elements;
	/* Its room is ROOM_FIRST, and then always twice as much. */
	if (count == 0 || (count >= ROOM_FIRST && !(count & (count - 1)))) {
		redisReply **element = arena_alloc(reader->arena,
		    (count ? 2 * count : ROOM_FIRST) * sizeof *element);
		if (count > 0)
			memcpy(element, array->element,
			    count * sizeof *element);
		array->element = element;
	}
	array->element[array->elements++] = reply;
	return reply;
}

static void *
on_string(const redisReadTask *task, char *text, size_t len)
{
	if (task->type != REDIS_REPLY_STRING &&
	    task->type != REDIS_REPLY_STATUS && task->type != REDIS_REPLY_ERROR)
		return reject_reply(task, wrong_type);
	struct reply_reader *reader = task->privdata;
	char *copy = arena_dup_large(reader->arena, span_of(text, len));
	if (copy == NULL)
		return reject_reply(task, no_memory);
	redisReply *reply = make(task, task->type);
	reply->str = copy;
	reply->len = len;
	return reply;
}

/* In hiredis before 1.0 the count is an int, later a size_t. */
#if HIREDIS_MAJOR >= 1
typedef size_t count_type;
#else
typedef int count_type;
#endif

static void *
on_array(const redisReadTask *task, count_type count)
{
	struct reply_reader *reader = task->privdata;
	size_t depth = 0;
	for (redisReadTask *at = task->parent; at != NULL; at = at->parent)
		depth++;
	if (task->type != REDIS_REPLY_ARRAY || depth > REPLY_MAX_DEPTH)
		return reject_reply(task, wrong_type);
	if ((size_t)count > REPLY_MAX_ELEMENTS - reader->elements)
		return reject_reply(task, too_large);
	reader->elements += (size_t)count;
	return make(task, REDIS_REPLY_ARRAY);
}

static void *
on_integer(const redisReadTask *task, long long number)
{
	if (task->type != REDIS_REPLY_INTEGER)
		return reject_reply(task, wrong_type);
	redisReply *reply = make(task, REDIS_REPLY_INTEGER);
	reply->integer = number;
	return reply;
}

/* In place of a string or an array; RESP3's own was not asked for. */
static void *
on_nil(const redisReadTask *task)
{
	if (task->type == REDIS_REPLY_NIL)
		return reject_reply(task, wrong_type);
	return make(task, REDIS_REPLY_NIL);
}

#if HIREDIS_MAJOR >= 1
/* Types that are those of no string and no number. */
static void *
on_double(const redisReadTask *task, double number, char *text, size_t len)
{
	(void)number;
	return on_string(task, text, len);
}

static void *
on_bool(const redisReadTask *task, int value)
{
	return on_integer(task, value);
}
#endif

static redisReplyObjectFunctions functions = {
    .createString = on_string,
    .createArray = on_array,
    .createInteger = on_integer,
    .createNil = on_nil,
#if HIREDIS_MAJOR >= 1
    .createDouble = on_double,
    .createBool = on_bool,
#endif
};

/* --- reading --- */

struct reply_reader *
reply_reader_new(void)
{
	struct reply_reader *reader = mem_zero(sizeof *reader);
	reader->parser = redisReaderCreateWithFunctions(&functions);
	if (reader->parser != NULL)
		reader->parser->privdata = reader;
	else
		reader->fault = no_memory;
	return reader;
}

void
reply_reader_free(struct reply_reader **reader)
{
	struct reply_reader *r = *reader;
	*reader = NULL;
	if (r == NULL)
		return;
	if (r->parser != NULL)
		redisReaderFree(r->parser);
	arena_free(&r->arena);
	arena_free(&r->given);
	free(r);
}

void
reply_reader_feed(struct reply_reader *reader, struct span bytes)
{
	if (reader->fault != NULL)
		return;
	reader->bytes += bytes.len;
	if (redisReaderFeed(reader->parser, bytes.ptr, bytes.len) != REDIS_OK)
		reader->fault = reader->parser->errstr;
}

/*
 * The parser stopped at a line without an end, or behind the end of one: that
 * is then the length of a string, which has not come as a whole.
 */
static const char *
fault_of_rest(const redisReader *parser)
{
	struct span rest = span_of(
	    parser->buf + parser->pos, parser->len - parser->pos);
	size_t searched = rest.len < LINE_MAX_BYTES ? rest.len : LINE_MAX_BYTES;
	const char *end = searched ? memchr(rest.ptr, '\r', searched) : NULL;
	if (end == NULL)
		return searched == LINE_MAX_BYTES ? "a line without an end"
						  : NULL;
	if (end + 1 == rest.ptr + rest.len)
		return NULL;
	struct span line = span_of(rest.ptr, (size_t)(end - rest.ptr));
	int64_t len;
	return digits_read(line, REPLY_MAX_BYTES, &len) ? NULL : too_large;
}

const redisReply *
reply_reader_next(struct reply_reader *reader, const char **ret_fault)
{
	redisReader *parser = reader->parser;
	void *reply = NULL;
	arena_free(&reader->given);
	if (reader->fault == NULL) {
		if (reader->arena == NULL)
			reader->arena = arena_new();
		if (redisReaderGetReply(parser, &reply) != REDIS_OK) {
			if (reader->fault == NULL)
				reader->fault = parser->errstr;
		} else if (reply != NULL) {
			reader->bytes = parser->len - parser->pos;
			reader->elements = 0;
			reader->given = reader->arena;
			reader->arena = NULL;
		} else {
			reader->fault = reader->bytes > REPLY_MAX_BYTES
			    ? too_large
			    : fault_of_rest(parser);
		}
	}
	*ret_fault = reader->fault;
	return reply;
}
