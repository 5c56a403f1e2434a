/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"
#include "store/record/event.h"
#include "store/redis/link.h"
#include "store/redis/resp.h"

/*
 * A link (store/redis/link.h) that is waited for: for the check at the start
 * and for commands, which have no loop.  It is logged in, and no more; where it
 * is lost it is not made again.  It knows nothing of records.  Any thread that
 * may block, one at a time.
 */
struct dialled;
struct redisReply;

/*
 * Connects to a server, be it of a cluster or a Sentinel (which may want no
 * password), by host and port or by its socket; NULL, with a message that the
 * caller frees.
 */
struct dialled *dial_to(const struct conf *conf, const struct conf_redis *at,
    struct link_to to, char **ret_message);
#define DIAL_TCP(conf, at, ip, number, ret_message) \
	dial_to(conf, at, (struct link_to){.host = ip, .port = number}, \
	    ret_message)
/* Nulls the pointer, accepts NULL. */
void dial_free(struct dialled **dial);

/*
 * Sends a command, which is cleared, and waits for its reply, errors included;
 * NULL: the connection broke, or was silent for its timeout.  The reply lives
 * until the next command.
 */
const struct redisReply *dial_send(
    struct dialled *dial, struct resp *command);
/* Sends a command of these words. */
const struct redisReply *dial_ask(
    struct dialled *dial, size_t count, const char *const *words);
#define DIAL_ASK(dial, ...) \
	dial_ask(dial, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), \
	    (const char *[]){__VA_ARGS__})
/*
 * Sends a probe, a command whose words have blanks between them, with other
 * texts in the place of some words; NULL, too, where the text of one is NULL.
 */
struct dial_word {
	const char *word, *text;
};
const struct redisReply *dial_probe(struct dialled *dial, const char *probe,
    const struct dial_word *words, size_t count);
/*
 * Checks a reply: returns it, unless it is NULL or an error.  Then the error is
 * the message, which the caller frees.
 */
const struct redisReply *dial_accept(const struct dialled *dial,
    const struct redisReply *reply, char **ret_message);
/* Whether it is a reply of that type (REDIS_REPLY_ARRAY, …). */
bool dial_is(const struct redisReply *reply, int type);
/* The number, from 0 on, behind a name, as resp_member; -1: it is none. */
int64_t dial_number(const struct redisReply *list, const char *name);
struct dial_stream {
	int64_t length;
	int64_t added;         /* since it was made */
	struct event_id first; /* zeros: there is none */
	struct event_id last;  /* that ever was */
};
/*
 * Reads the reply of XINFO STREAM; false: it is none.  A stream that is not
 * there is one of nothing.
 */
bool dial_read_stream(
    const struct redisReply *reply, struct dial_stream *ret_stream);
/* Selects the database of a Redis, or sees whether it answers at all. */
bool dial_select(struct dialled *dial, const struct conf_redis *at,
    char **ret_message);

/* Why the connection broke, as long as it lives; NULL: it did not. */
const char *dial_broken(const struct dialled *dial);
