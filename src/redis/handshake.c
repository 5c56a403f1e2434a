/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "redis/handshake_private.h"
#include "redis/info.h"
#include "redis/link_private.h"

/* --- calls of the link itself --- */

struct own_call {
	struct link_call call;
	struct link *link;
	bool may_fail;
	bool asks_role;
};

/* Takes the clock from a reply of TIME; any other reply is ignored. */
static void
heard_time(struct link *link, const redisReply *reply, int64_t sent_us)
{
	int64_t ms;
	if (resp_read_time(reply, &ms))
		redis_clock_heard(&link->clock, ms, sent_us, clock_us());
}

static struct own_call *
send_own(struct link *link, size_t count, const char *const *words,
    bool may_fail,
    void (*done)(struct link_call *call, const redisReply *reply))
{
	struct resp command = {0};
	resp_begin(&command, count);
	for (size_t i = 0; i < count; i++)
		resp_arg(&command, span_str(words[i]));
	struct own_call *own = mem_zero(sizeof *own);
	own->link = link;
	own->may_fail = may_fail;
	own->call.done = done;
	link_send(link, &own->call, &command);
	if (command.bytes != NULL)
		sodium_memzero(command.bytes, command.len);
	resp_clear(&command);
	return own;
}

/* --- the handshake --- */

/* Why this reply ends the link; NULL: it does not. */
static const char *
wrong(const struct own_call *own, const redisReply *reply)
{
	if (reply->type == REDIS_REPLY_ERROR)
		return own->may_fail ? NULL : reply->str;
	if (own->asks_role && reply->type == REDIS_REPLY_STRING &&
	    !info_is_master(span_of(reply->str, reply->len)) &&
	    INVARIANT(master_only))
		return "Redis is a replica";
	return NULL;
}

static void
on_handshake(struct link_call *call, const redisReply *reply)
{
	struct own_call *own = CONTAINER_OF(call, struct own_call, call);
	struct link *link = own->link;
	const char *message = reply != NULL ? wrong(own, reply) : NULL;
	if (reply != NULL && message == NULL)
		heard_time(link, reply, call->sent_us);
	free(own);
	if (reply == NULL || link->doomed)
		return;
	if (message != NULL) {
		link_set_message(link, message);
		link->doomed = true;
		return;
	}
	if (--link->handshake == 0)
		link_came_up(link);
}

static struct own_call *
shake_with(struct link *link, size_t count, const char *const *words,
    bool may_fail)
{
	link->handshake++;
	return send_own(link, count, words, may_fail, on_handshake);
}

/*
 * A server that somebody else named as the master may no longer be one.  Where
 * the user may not run INFO, the answer to the first write will tell.
 */
static void
ask_role(struct link *link)
{
	const char *role[] = {"INFO", "replication"};
	shake_with(link, 2, role, true)->asks_role = true;
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
	const struct conf_store *store = &link->conf->store;
	char db[24];
	snprintf(db, sizeof db, "%" PRId64, store->db);
	const char *auth[] = {"AUTH", store->user, store->password};
	const char *auth_default[] = {"AUTH", store->password};
	const char *select[] = {"SELECT", db};
	const char *name[] = {"CLIENT", "SETNAME", "onceproxy"};
	const char *time[] = {"TIME"};
	const char *ping[] = {"PING"};
	bool with_password = store->password != NULL && !store->managed;
	link->handshake = 0;
	if (with_password && store->user != NULL)
		shake_with(link, 3, auth, link->sentinel);
	else if (with_password)
		shake_with(link, 2, auth_default, link->sentinel);
	if (store->db != 0 && !link->sentinel)
		shake_with(link, 2, select, false);
	shake_with(link, 3, name, true);
	if (!link->sentinel)
		shake_with(link, 1, time, false);
	if (link->events.find != NULL)
		ask_role(link);
	shake_with(link, 1, ping, false);
}

/* --- listening --- */

static void
on_message(redisAsyncContext *ac, void *message, void *arg)
{
	struct link *link = arg;
	struct span bytes;
	(void)ac;
	if (message != NULL && resp_read_message(message, &bytes))
		link->events.heard(link->events.arg, bytes);
}

void
handshake_subscribe(struct link *link)
{
	redisAsyncCommand(
	    link->ac, on_message, link, "PSUBSCRIBE %s", link->channels);
}

/* --- the pulse --- */

static void
on_pulse(struct link_call *call, const redisReply *reply)
{
	struct own_call *own = CONTAINER_OF(call, struct own_call, call);
	struct link *link = own->link;
	if (reply != NULL) {
		heard_time(link, reply, call->sent_us);
		link_lives(link);
	}
	free(own);
}

struct link_call *
handshake_pulse(struct link *link)
{
	const char *words[] = {link->sentinel ? "PING" : "TIME"};
	return &send_own(link, 1, words, true, on_pulse)->call;
}
