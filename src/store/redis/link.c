/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/must.h"
#include "store/redis/handshake_private.h"
#include "store/redis/link_private.h"
#include "store/redis/news_private.h"
#include "store/redis/open_socket.h"
#include "store/redis/resolve.h"
#include "store/redis/silence_private.h"
#include "store/redis/tls_session.h"

enum {
	BACKOFF_FIRST_MS = 50,
	BACKOFF_MAX_MS = 1000,
	PULSE_MS = 1000, /* between two signs of life */
};

static void start(struct link *link);
static void pulse(struct link *link);

/* --- calls --- */

/* The call that the next reply is for, which does not wait any more. */
static struct link_call *
take_call(struct link *link)
{
	struct link_call *call = link->calls;
	if (call == NULL)
		return NULL;
	link->calls = call->next;
	if (link->calls == NULL)
		link->calls_end = &link->calls;
	return call;
}

/* --- down --- */

static void
set_message(struct link *link, const char *message)
{
	if (message != link->message)
		snprintf(link->message, sizeof link->message, "%s", message);
}

/* The connection is gone, or was never made. */
static void
went_down(struct link *link)
{
	bool was_up = link->state == LINK_UP;
	link->state = LINK_DOWN;
	link->handshake = 0;
	link->doomed = link->finding = link->subscribed = false;
	link->pulse = NULL;
	timer_set(&link->timer, link->backoff_ms);
	link->backoff_ms = link->backoff_ms ? 2 * link->backoff_ms
					    : BACKOFF_FIRST_MS;
	if (link->backoff_ms > BACKOFF_MAX_MS)
		link->backoff_ms = BACKOFF_MAX_MS;
	if (was_up) {
		news_down(link);
		link->events.changed(link->events.arg, false);
	} else {
		link->tried_in_vain = true;
		news_down(link);
		link->events.failed(link->events.arg);
	}
}

/* Those too that are sent while they end. */
static void
end_calls(struct link *link)
{
	struct link_call *call;
	while ((call = take_call(link)) != NULL)
		call->done(call, NULL);
}

void
link_doom(struct link *link, const char *message)
{
	if (link->doomed)
		return;
	set_message(link, message);
	link->doomed = true;
}

void
link_reset(struct link *link, const char *message)
{
	if (link->telling) {
		link_doom(link, message);
		return;
	}
	resolve_cancel(&link->lookup);
	set_message(link, message);
	bool connected = link->cable != NULL;
	cable_free(&link->cable);
	end_calls(link);
	if (connected || link->state != LINK_DOWN)
		went_down(link);
}

void
link_distrust(struct link *link, const char *message)
{
	if (link->doomed)
		return;
	link_doom(link, message);
	if (!link->said_odd)
		news_garbled(link);
	link->said_odd = true;
}

void
link_move(struct link *link)
{
	bool said_down = link->said_down;
	link->said_down = true; /* our own doing is no news */
	link_reset(link, "Redis has moved");
	link->said_down = said_down;
	link->tried_in_vain = false;
	link->backoff_ms = 0;
	timer_set(&link->timer, 0);
}

/* When the last bytes came; 0: none have. */
static int64_t
read_us(const struct link *link)
{
	return link->cable != NULL ? cable_read_us(link->cable)
					: 0;
}

/* It has taken longer than the configuration allows. */
static void
time_is_up(struct link *link, const char *what)
{
	const struct conf_redis *store = &link->conf->store.redis;
	char message[LINK_MESSAGE_BYTES];
	snprintf(message, sizeof message, "%s within %s", what,
	    link->redis == store ? "store.timeout" : "the broker's timeout");
	link_reset(link, message);
}

/* The time for the handshake is over, unless it is just being answered. */
static void
give_up_connecting(struct link *link)
{
	int64_t heard_us = read_us(link);
	int64_t left_ms =
	    heard_us > 0 ? silence_left_since(link, heard_us) : 0;
	if (left_ms > 0)
		timer_set(&link->timer, left_ms);
	else
		time_is_up(link, link->finding ? "its location was not learned"
					    : "no connection");
}

static void
give_up_pulse(struct link *link)
{
	int64_t left_ms = silence_left_ms(link, link->pulse);
	if (left_ms > 0)
		timer_set(&link->timer, left_ms);
	else
		time_is_up(link, "no answer");
}

static void
on_timer(void *arg)
{
	struct link *link = arg;
	switch (link->state) {
	case LINK_DOWN:
		start(link);
		break;
	case LINK_CONNECTING:
		give_up_connecting(link);
		break;
	case LINK_UP:
		if (link->pulse != NULL)
			give_up_pulse(link);
		else
			pulse(link);
		break;
	}
}

/* --- what the connection reports --- */

/* An error may come unasked: Redis has too many connections. */
static void
hear_unasked(struct link *link, const redisReply *reply)
{
	if (link->subscribed)
		handshake_heard(link, reply);
	else if (reply->type == REDIS_REPLY_ERROR)
		link_doom(link, reply->str);
	else
		link_distrust(link, "a reply that nobody asked for");
}

static bool
on_replied(void *arg, const redisReply *reply)
{
	struct link *link = arg;
	struct link_call *call = take_call(link);
	link->telling = true;
	if (call != NULL)
		call->done(call, reply);
	else
		hear_unasked(link, reply);
	link->telling = false;
	return !link->doomed;
}

static void
on_ended(void *arg, enum cable_end how, const char *message)
{
	struct link *link = arg;
	if (how == CABLE_ODD)
		link_distrust(link, message);
	link_reset(link, link->doomed ? link->message : message);
}

/* All commands of this turn leave with one write. */
static bool
on_flush(void *arg)
{
	struct link *link = arg;
	if (link->cable != NULL)
		cable_flush(link->cable);
	return false;
}

/* --- connecting --- */

static void
fail(struct link *link, const char *message)
{
	set_message(link, message);
	went_down(link);
}

static void
attach(struct link *link, int fd)
{
	const struct cable_events events = {
	    .replied = on_replied, .ended = on_ended, .arg = link};
	struct tls_session *tls = NULL;
	if (fd < 0) {
		fail(link, strerror(errno));
		return;
	}
	if (link->redis->tls.on && link->socket == NULL)
		tls = tls_session_new(&link->redis->tls,
		    link->name != NULL ? link->name : link->host, fd);
	link->cable = cable_new(link->loop, fd, tls, &events);
	if (link->large)
		cable_keep_queues_short(link->cable);
	link->given = 0;
	handshake_begin(link);
}

static void
connect_to(void *arg, const char *address)
{
	struct link *link = arg;
	link->lookup = NULL;
	if (address == NULL) {
		fail(link, "the host has no address");
		return;
	}
	free(link->address);
	link->address = mem_str(span_str(address));
	attach(link, open_socket_tcp(address, link->port));
}

static void
go(struct link *link)
{
	const char *host = link->host;
	uint8_t binary[sizeof(struct in6_addr)];
	if (link->socket != NULL)
		attach(link, open_socket_unix(link->socket));
	else if (inet_pton(AF_INET, host, binary) == 1 ||
	    inet_pton(AF_INET6, host, binary) == 1)
		connect_to(link, host);
	else
		link->lookup =
		    resolve_start(link->loop, host, connect_to, link);
}

static void
start(struct link *link)
{
	link->state = LINK_CONNECTING;
	timer_set(&link->timer, link->redis->timeout_ms);
	link->finding = link->events.find != NULL;
	if (link->finding)
		link->events.find(link->events.arg);
	else
		go(link);
}

void
link_found(struct link *link, const char *host, uint16_t port)
{
	if (!link->finding)
		return;
	link->finding = false;
	free(link->host);
	link->host = mem_str(span_str(host));
	link->port = port;
	go(link);
}

/* --- up --- */

void
link_came_up(struct link *link)
{
	link->state = LINK_UP;
	link->tried_in_vain = false;
	/* An immediate retry (0) is for a link that lived to see a pulse. */
	if (link->channels == NULL)
		link->backoff_ms = BACKOFF_FIRST_MS;
	timer_clear(&link->timer);
	if (link->channels != NULL)
		handshake_subscribe(link);
	else if (!link->unpulsed)
		timer_set(&link->timer, PULSE_MS);
	news_up(link);
	link->events.changed(link->events.arg, true);
}

/* Notices a Redis that fell silent even when no request needs it. */
static void
pulse(struct link *link)
{
	timer_set(&link->timer, link->redis->timeout_ms);
	link->pulse = handshake_pulse(link);
}

void
link_listens(struct link *link)
{
	link->subscribed = true;
	link->backoff_ms = BACKOFF_FIRST_MS;
}

void
link_lives(struct link *link)
{
	link->pulse = NULL;
	link->said_odd = false;
	link->backoff_ms = 0;
	timer_set(&link->timer, PULSE_MS);
}

/* --- life --- */

struct link *
link_new(struct loop *loop, const struct conf *conf,
    const struct conf_redis *redis, const struct link_to *to,
    const struct link_events *events)
{
	struct link *link = mem_zero(sizeof *link);
	link->loop = loop;
	link->conf = conf_ref(conf);
	link->redis = redis;
	link->socket = mem_text(to->socket);
	link->host = mem_text(to->host);
	link->name = mem_text(to->name);
	link->port = to->port;
	link->sentinel = to->sentinel;
	link->large = to->large;
	link->unpulsed = to->unpulsed;
	link->events = *events;
	link->channels = mem_text(events->channels);
	link->calls_end = &link->calls;
	timer_init(&link->timer, loop, on_timer, link);
	loop_hook(loop, HOOK_FLUSH, &link->flush, on_flush, link);
	/*
	 * Not before the first turn: only then is the owner ready for events.
	 */
	timer_set(&link->timer, 0);
	return link;
}

void
link_free(struct link **link)
{
	struct link *l = *link;
	*link = NULL;
	if (l == NULL)
		return;
	news_freed(l);
	l->said_down = true; /* our own doing is no news */
	link_reset(l, "closed");
	timer_clear(&l->timer);
	loop_unhook(l->loop, HOOK_FLUSH, &l->flush);
	conf_unref(&l->conf);
	free(l->socket);
	free(l->host);
	free(l->address);
	free(l->name);
	free(l->channels);
	free(l);
}

bool
link_is_up(const struct link *link)
{
	return link->state == LINK_UP;
}

bool
link_is_hopeful(const struct link *link)
{
	return link->state != LINK_UP && !link->tried_in_vain;
}

void
link_send(
    struct link *link, struct link_call *call, const struct resp *command)
{
	must(link->state != LINK_DOWN);
	link->given += (int64_t)command->len;
	call->sent_us = clock_us();
	call->next = NULL;
	*link->calls_end = call;
	link->calls_end = &call->next;
	silence_begin(link, call);
	/* While the calls of a link that is lost end, this one joins them. */
	if (link->cable != NULL)
		cable_give(link->cable,
		    span_of(command->bytes, command->len));
}

int64_t
link_left_ms(struct link *link, struct link_call *call)
{
	return silence_left_ms(link, call);
}

struct link_to
link_where(const struct link *link)
{
	return (struct link_to){.socket = link->socket,
	    .host = link->address != NULL ? link->address : link->host,
	    .name = link->name != NULL ? link->name : link->host,
	    .port = link->port};
}

const char *
link_message(const struct link *link)
{
	return link->message;
}

struct redis_clock *
link_clock(struct link *link)
{
	return &link->clock;
}
