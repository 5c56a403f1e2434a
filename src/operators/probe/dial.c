/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <hiredis/hiredis.h>
#include <hiredis/sds.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/loop/clock.h"
#include "base/mem.h"
#include "operators/probe/dial.h"
#include "operators/probe/secret_write.h"
#include "store/redis/reply_reader.h"
#include "store/redis/resp.h"
#include "store/redis/tls_session.h"

enum {
	REPLY_MOST_S = 30, /* the longest that a reply may take in drops */
	READ_BYTES = 16 * 1024,
};

struct dialled {
	redisContext *redis; /* its socket, its buffers, its error */
	struct tls_session *tls; /* NULL: none */
	int64_t timeout_ms;
};

static struct timeval
limit_of(const struct conf_redis *at)
{
	int64_t ms = at->timeout_ms;
	return (struct timeval){ms / 1000, ms % 1000 * 1000};
}

static void
set_error(redisContext *redis, const char *message)
{
	redis->err = REDIS_ERR_OTHER;
	snprintf(redis->errstr, sizeof redis->errstr, "%s", message);
}

/* --- life --- */

/* A failed connection is freed, and leaves its error as the message. */
static struct dialled *
checked(const struct conf_redis *at, redisContext *redis, char **ret_message)
{
	if (redis != NULL && redis->err == 0) {
		struct dialled *dial = mem_zero(sizeof *dial);
		redisSetTimeout(redis, limit_of(at));
		reply_reader_guard(redis->reader);
		dial->redis = redis;
		dial->timeout_ms = at->timeout_ms;
		return dial;
	}
	int saved = redis == NULL || redis->err == REDIS_ERR_IO ? errno : 0;
	*ret_message =
	    mem_str(span_str(redis != NULL ? redis->errstr : "out of memory"));
	if (redis != NULL)
		redisFree(redis);
	errno = saved;
	return NULL;
}

/* Each turn blocks for store.timeout at most. */
static bool
shake_hands(struct dialled *dial, int64_t until_us, char **ret_message)
{
	enum tls_session_step step;
	do
		step = tls_session_shake(dial->tls);
	while (step != TLS_SESSION_READY && step != TLS_SESSION_FAILED &&
	    clock_us() < until_us);
	if (step == TLS_SESSION_READY)
		return true;
	*ret_message = mem_str(step == TLS_SESSION_FAILED
		? span_str(tls_session_message(dial->tls))
		: SPAN("TLS: the handshake timed out"));
	return false;
}

struct dialled *
dial_tcp(const struct conf_redis *at, const char *host, uint16_t port,
    char **ret_message)
{
	int64_t until_us = clock_us() + 1000 * at->timeout_ms;
	struct dialled *dial = checked(at,
	    redisConnectWithTimeout(host, port, limit_of(at)), ret_message);
	if (dial == NULL || !at->tls.on)
		return dial;
	dial->tls = tls_session_new(&at->tls, host, dial->redis->fd);
	if (!shake_hands(dial, until_us, ret_message))
		dial_free(&dial);
	return dial;
}

struct dialled *
dial_unix(const struct conf_redis *at, const char *path, char **ret_message)
{
	return checked(at,
	    redisConnectUnixWithTimeout(path, limit_of(at)), ret_message);
}

void
dial_free(struct dialled **dial)
{
	struct dialled *d = *dial;
	*dial = NULL;
	if (d == NULL)
		return;
	tls_session_free(&d->tls);
	redisFree(d->redis);
	free(d);
}

bool
dial_is_broken(const struct dialled *dial)
{
	return dial->redis->err != 0;
}

const char *
dial_message(const struct dialled *dial)
{
	return dial->redis->errstr;
}

int
dial_fd(const struct dialled *dial)
{
	return dial->redis->fd;
}

/* --- bytes --- */

static bool
is_late(struct dialled *dial, int64_t began_us)
{
	if (clock_us() - began_us < REPLY_MOST_S * (int64_t)1000000)
		return false;
	char words[64];
	snprintf(words, sizeof words,
	    "its reply was not complete after %d seconds", REPLY_MOST_S);
	set_error(dial->redis, words);
	return true;
}

/*
 * What errno says of a socket that blocks.  EAGAIN is its timeout, or GnuTLS
 * took a record that is no data, such as a ticket behind the handshake.
 */
static bool
broke(struct dialled *dial, int64_t began_us)
{
	bool over = clock_us() - began_us >= 1000 * dial->timeout_ms;
	if (errno == EINTR || (errno == EAGAIN && !over))
		return false;
	if (errno == EAGAIN)
		set_error(dial->redis, "timed out");
	else
		set_error(dial->redis, errno == EPROTO
			? tls_session_message(dial->tls)
			: strerror(errno));
	return true;
}

/* False: it broke. */
static bool
write_tls(struct dialled *dial, int *ret_sent)
{
	int64_t began_us = clock_us();
	redisContext *redis = dial->redis;
	size_t len = sdslen(redis->obuf);
	ssize_t put = len > 0
	    ? tls_session_put(dial->tls, span_of(redis->obuf, len))
	    : 0;
	if (put < 0)
		return !broke(dial, began_us);
	if (put > 0 && (size_t)put == len)
		sdsclear(redis->obuf);
	else if (put > 0)
		sdsrange(redis->obuf, (int)put, -1);
	*ret_sent = sdslen(redis->obuf) == 0;
	return true;
}

static bool
read_tls(struct dialled *dial)
{
	int64_t began_us = clock_us();
	char bytes[READ_BYTES];
	do {
		ssize_t got = tls_session_get(dial->tls, bytes, sizeof bytes);
		if (got < 0)
			return !broke(dial, began_us);
		if (got == 0)
			set_error(dial->redis, "Server closed the connection");
		if (got == 0 ||
		    redisReaderFeed(dial->redis->reader, bytes, (size_t)got) !=
			REDIS_OK)
			return false;
	} while (tls_session_has_more(dial->tls));
	return true;
}

/* hiredis says of a time that is over what its errno is called. */
static bool
name_timeout(struct dialled *dial, int result)
{
	if (result != REDIS_OK && dial->redis->err == REDIS_ERR_IO &&
	    errno == EAGAIN)
		set_error(dial->redis, "timed out");
	return result == REDIS_OK;
}

static bool
write_some(struct dialled *dial, int *ret_sent)
{
	return dial->tls != NULL
	    ? write_tls(dial, ret_sent)
	    : name_timeout(dial, redisBufferWrite(dial->redis, ret_sent));
}

static bool
read_some(struct dialled *dial)
{
	return dial->tls != NULL
	    ? read_tls(dial)
	    : name_timeout(dial, redisBufferRead(dial->redis));
}

/* --- commands and replies --- */

void
dial_append(struct dialled *dial, const struct resp *command)
{
	must(redisAppendFormattedCommand(dial->redis, command->bytes,
		 command->len) == REDIS_OK);
}

/* Each turn of these loops blocks for store.timeout at most. */
bool
dial_send(struct dialled *dial)
{
	int64_t began_us = clock_us();
	for (int sent = 0; !sent;)
		if (is_late(dial, began_us) || !write_some(dial, &sent))
			return false;
	return true;
}

redisReply *
dial_reply(struct dialled *dial)
{
	int64_t began_us = clock_us();
	void *reply = NULL;
	if (!dial_send(dial))
		return NULL;
	while (redisGetReplyFromReader(dial->redis, &reply) == REDIS_OK &&
	    reply == NULL)
		if (is_late(dial, began_us) || !read_some(dial))
			return NULL;
	return reply;
}

redisReply *
dial_ask(struct dialled *dial, size_t count, const char **words)
{
	return redisAppendCommandArgv(
		   dial->redis, (int)count, words, NULL) == REDIS_OK
	    ? dial_reply(dial)
	    : NULL;
}

redisReply *
dial_accept(const struct dialled *dial, redisReply *reply, char **ret_message)
{
	if (reply != NULL && reply->type != REDIS_REPLY_ERROR)
		return reply;
	/* The parser was not let have memory for what was only announced. */
	const char *error = dial->redis->err == REDIS_ERR_OOM
	    ? "it sent what cannot be its reply"
	    : dial->redis->errstr;
	*ret_message = mem_str(span_str(reply != NULL ? reply->str : error));
	freeReplyObject(reply);
	return NULL;
}

/* Appends a command to what is to be sent, and leaves no other copy of it. */
static void
append_secret(struct dialled *dial, size_t count, const char *const *words)
{
	struct resp command = {0};
	resp_begin(&command, count);
	for (size_t i = 0; i < count; i++)
		resp_arg(&command, span_str(words[i]));
	dial_append(dial, &command);
	sodium_memzero(command.bytes, command.len);
	resp_clear(&command);
}

/* dial_reply sends the rest, or finds out why it cannot. */
static void
send_secret(struct dialled *dial)
{
	if (dial->tls == NULL) {
		(void)secret_write_send(dial->redis);
		return;
	}
	dial_send(dial);
	secret_write_end(dial->redis);
}

bool
dial_log_in(const struct conf_redis *at, struct dialled *dial,
    char **ret_message)
{
	if (at->password == NULL || at->managed)
		return true;
	const char *words[] = {"AUTH", at->user, at->password};
	if (at->user == NULL)
		words[1] = at->password;
	secret_write_begin(dial->redis);
	append_secret(dial, at->user ? 3 : 2, words);
	send_secret(dial);
	redisReply *reply =
	    dial_accept(dial, dial_reply(dial), ret_message);
	freeReplyObject(reply);
	return reply != NULL;
}
