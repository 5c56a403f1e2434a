/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "store/redis/handshake_private.h"
#include "store/redis/info.h"
#include "store/redis/link_private.h"

/* --- calls of the link itself --- */

struct own_call {
	struct link_call call;
	struct link *link;
	bool may_fail;
	int type; /* of its reply, where that is no error */
};

/* Why this reply ends the link; NULL: it does not. */
static const char *
refusal(const struct own_call *own, const redisReply *reply)
{
	if (reply->type == REDIS_REPLY_ERROR)
		return own->may_fail ? NULL : reply->str;
	if (reply->type == REDIS_REPLY_STRING &&
	    !info_is_master(span_of(reply->str, reply->len)) &&
	    INVARIANT(master_only))
		return "Redis is a replica";
	return NULL;
}

/* Takes the clock from a reply of TIME; false: it is none. */
static bool
take_time(const struct own_call *own, const redisReply *reply)
{
	int64_t ms;
	if (!resp_read_time(reply, &ms))
		return false;
	redis_clock_heard(
	    &own->link->clock, ms, own->call.sent_us, clock_us());
	return true;
}

/* Takes in what Redis has said; false: the link is to be cut. */
static bool
take_reply(const struct own_call *own, const redisReply *reply)
{
	const char *message = refusal(own, reply);
	if (message != NULL)
		link_doom(own->link, message);
	else if (reply->type != REDIS_REPLY_ERROR &&
	    (reply->type != own->type ||
		(reply->type == REDIS_REPLY_ARRAY && !take_time(own, reply))))
		link_distrust(own->link, "a reply to another command");
	return !own->link->doomed;
}

static struct own_call *
send_own(struct link *link, size_t count, const char *const *words,
    bool may_fail, int type,
    void (*done)(struct link_call *call, const redisReply *reply))
{
	struct resp command = {0};
	resp_begin(&command, count);
	for (size_t i = 0; i < count; i++)
		resp_arg(&command, span_str(words[i]));
	struct own_call *own = mem_zero(sizeof *own);
	own->link = link;
	own->may_fail = may_fail;
	own->type = type;
	own->call.done = done;
	link_send(link, &own->call, &command);
	if (command.bytes != NULL)
		sodium_memzero(command.bytes, command.len);
	resp_clear(&command);
	return own;
}

/* --- the handshake --- */

static void
on_handshake(struct link_call *call, const redisReply *reply)
{
	struct own_call *own = CONTAINER_OF(call, struct own_call, call);
	struct link *link = own->link;
	bool well = reply != NULL && take_reply(own, reply);
	free(own);
	if (well && --link->handshake == 0)
		link_came_up(link);
}

static void
shake_with(struct link *link, size_t count, const char *const *words,
    bool may_fail, int type)
{
	link->handshake++;
	send_own(link, count, words, may_fail, type, on_handshake);
}

/*
 * A server that somebody else named as the master may no longer be one.  Where
 * the user may not run INFO, the answer to the first write will tell.
 */
static void
ask_role(struct link *link)
{
	const char *role[] = {"INFO", "replication"};
	shake_with(link, 2, role, true, REDIS_REPLY_STRING);
}

/*
 * Everything in one write: who we are, which database, a name for CLIENT LIST,
 * the time, and PING, which a server that is still loading refuses.  A Sentinel
 * has neither databases nor a clock, and one without a password refuses our
 * AUTH, which is no fault: one that wants another password refuses PING.
 */
void
handshake_begin(struct link *link)
{
	const struct conf_redis *redis = link->redis;
	char db[24];
	snprintf(db, sizeof db, "%" PRId64, redis->db);
	const char *auth[] = {"AUTH", redis->user, redis->password};
	const char *auth_default[] = {"AUTH", redis->password};
	const char *select[] = {"SELECT", db};
	const char *name[] = {"CLIENT", "SETNAME", "onceproxy"};
	const char *time[] = {"TIME"};
	const char *ping[] = {"PING"};
	bool with_password = redis->password != NULL && !redis->managed;
	link->handshake = 0;
	if (with_password && redis->user != NULL)
		shake_with(link, 3, auth, link->sentinel, REDIS_REPLY_STATUS);
	else if (with_password)
		shake_with(link, 2, auth_default, link->sentinel,
		    REDIS_REPLY_STATUS);
	if (redis->db != 0 && !link->sentinel)
		shake_with(link, 2, select, false, REDIS_REPLY_STATUS);
	shake_with(link, 3, name, true, REDIS_REPLY_STATUS);
	if (!link->sentinel)
		shake_with(link, 1, time, false, REDIS_REPLY_ARRAY);
	if (link->events.find != NULL)
		ask_role(link);
	shake_with(link, 1, ping, false, REDIS_REPLY_STATUS);
}

/* --- listening --- */

static void
on_subscribed(struct link_call *call, const redisReply *reply)
{
	struct own_call *own = CONTAINER_OF(call, struct own_call, call);
	struct link *link = own->link;
	free(own);
	if (reply == NULL)
		return;
	if (resp_is_subscribed(reply, span_str(link->channels))) {
		link_listens(link);
	} else if (reply->type == REDIS_REPLY_ERROR) {
		if (link->events.refused != NULL)
			link->events.refused(link->events.arg, reply->str);
		link_doom(link, reply->str);
	} else {
		link_distrust(link, "a reply to another command");
	}
}

void
handshake_subscribe(struct link *link)
{
	const char *words[] = {"PSUBSCRIBE", link->channels};
	send_own(
	    link, 2, words, false, REDIS_REPLY_ARRAY, on_subscribed);
}

void
handshake_heard(struct link *link, const redisReply *message)
{
	struct span bytes;
	if (!resp_read_message(message, span_str(link->channels), &bytes)) {
		link_distrust(link, "a message of an unexpected form");
		return;
	}
	link->said_odd = false;
	link->events.heard(link->events.arg, bytes);
}

/* --- the pulse --- */

static void
on_pulse(struct link_call *call, const redisReply *reply)
{
	struct own_call *own = CONTAINER_OF(call, struct own_call, call);
	struct link *link = own->link;
	if (reply != NULL && take_reply(own, reply))
		link_lives(link);
	free(own);
}

struct link_call *
handshake_pulse(struct link *link)
{
	const char *words[] = {link->sentinel ? "PING" : "TIME"};
	int type = link->sentinel ? REDIS_REPLY_STATUS : REDIS_REPLY_ARRAY;
	return &send_own(link, 1, words, true, type, on_pulse)->call;
}
