/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/must.h"
#include "loop/log.h"
#include "redis/handshake_private.h"
#include "redis/link_private.h"
#include "redis/resolve.h"
#include "redis/secret_write.h"
#include "redis/silence_private.h"

enum {
	BACKOFF_FIRST_MS = 50,
	BACKOFF_MAX_MS = 1000,
	PULSE_MS = 1000, /* between two signs of life */
	/* What the kernel keeps for a link of large values, each way. */
	LARGE_KERNEL_BYTES = 128 * 1024,
};

static void start(struct link *link);
static void pulse(struct link *link);

/* --- down --- */

void
link_set_message(struct link *link, const char *message)
{
	if (message != link->message)
		snprintf(link->message, sizeof link->message, "%s", message);
}

static bool
is_of_cluster(const struct link *link)
{
	return link->conf->store.cluster.count > 0;
}

/* Logged once each time that it goes down; the password is not in it. */
static void
say_down(struct link *link)
{
	if (link->said_down || link->channels != NULL || link->sentinel ||
	    link->events.unsaid)
		return;
	link->said_down = true;
	struct logline line =
	    log_begin(is_of_cluster(link) ? EV_node_down : EV_store_down);
	if (link->socket != NULL || link->host != NULL)
		log_str(&line, "redis",
		    link->socket ? link->socket : link->host);
	if (link->host != NULL)
		log_int(&line, "port", link->port);
	log_str(&line, "error", link->message);
	log_end(&line);
}

/* The connection is gone, or was never made. */
static void
went_down(struct link *link)
{
	bool was_up = link->state == LINK_UP;
	link->state = LINK_DOWN;
	link->handshake = 0;
	link->doomed = link->finding = false;
	link->pulse = NULL;
	timer_set(&link->timer, link->backoff_ms);
	link->backoff_ms = link->backoff_ms ? 2 * link->backoff_ms
					    : BACKOFF_FIRST_MS;
	if (link->backoff_ms > BACKOFF_MAX_MS)
		link->backoff_ms = BACKOFF_MAX_MS;
	if (was_up) {
		say_down(link);
		link->events.changed(link->events.arg, false);
	} else {
		link->tried_in_vain = true;
		say_down(link);
		link->events.failed(link->events.arg);
	}
}

void
link_reset(struct link *link, const char *message)
{
	resolve_cancel(&link->lookup);
	link_set_message(link, message);
	if (link->ac == NULL) {
		if (link->state != LINK_DOWN)
			went_down(link);
		return;
	}
	struct linger linger = {.l_onoff = 1, .l_linger = 0};
	setsockopt(
	    link->ac->c.fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
	/* Ends the open calls, and calls on_cleanup. */
	redisAsyncFree(link->ac);
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

/* The time for the handshake is over, unless it is just being answered. */
static void
give_up_connecting(struct link *link)
{
	int64_t left_ms =
	    link->read_us > 0 ? silence_left_since(link, link->read_us) : 0;
	if (left_ms > 0)
		timer_set(&link->timer, left_ms);
	else
		link_reset(link, link->finding
			? "its location was not learned within store.timeout"
			: "no connection within store.timeout");
}

static void
give_up_pulse(struct link *link)
{
	int64_t left_ms = silence_left_ms(link, link->pulse);
	if (left_ms > 0)
		timer_set(&link->timer, left_ms);
	else
		link_reset(link, "no answer within store.timeout");
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

/* --- what hiredis asks of a loop --- */

static void
on_add_write(void *arg)
{
	struct link *link = arg;
	link->want_write = true;
}

static void
on_del_write(void *arg)
{
	struct link *link = arg;
	link->want_write = false;
}

/* hiredis is about to free its context: it calls this whatever the cause. */
static void
on_cleanup(void *arg)
{
	struct link *link = arg;
	if (link->ac->err != 0)
		link_set_message(link, link->ac->errstr);
	if (link->logging_in)
		secret_write_end(&link->ac->c);
	link->logging_in = false;
	watch_free(&link->watch);
	link->ac = NULL;
	link->want_write = link->armed = false;
	went_down(link);
}

/* Watches for room to write where not all bytes have left. */
static void
arm(struct link *link)
{
	if (link->ac == NULL || link->armed == link->want_write)
		return;
	link->armed = link->want_write;
	watch_want(link->watch,
	    link->armed ? WATCH_READ | WATCH_WRITE : WATCH_READ);
}

static void
after_hiredis(struct link *link)
{
	if (link->ac != NULL && link->doomed)
		link_reset(link, link->message);
}

static void
write_out(struct link *link)
{
	if (link->logging_in)
		link->logging_in = !secret_write_send(&link->ac->c);
	redisAsyncHandleWrite(link->ac);
}

static void
on_ready(void *arg, unsigned events)
{
	struct link *link = arg;
	if (events & WATCH_WRITE) {
		write_out(link);
		arm(link);
	}
	if (link->ac != NULL && events & WATCH_READ) {
		link->read_us = clock_us();
		redisAsyncHandleRead(link->ac);
	}
	after_hiredis(link);
}

/* All commands of this turn leave with one write. */
static bool
on_flush(void *arg)
{
	struct link *link = arg;
	if (link->ac != NULL && link->want_write && !link->armed) {
		write_out(link);
		arm(link);
		after_hiredis(link);
	}
	return false;
}

/* --- connecting --- */

static void
fail(struct link *link, const char *message)
{
	link_set_message(link, message);
	went_down(link);
}

static void
keep_queues_short(int fd)
{
	const int bytes = LARGE_KERNEL_BYTES;
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

static void
attach(struct link *link, redisAsyncContext *ac)
{
	if (ac == NULL || ac->err != 0) {
		fail(link, ac ? ac->errstr : "out of memory");
		/* No callbacks are set: it only frees. */
		if (ac != NULL)
			redisAsyncFree(ac);
		return;
	}
	fcntl(ac->c.fd, F_SETFD, FD_CLOEXEC);
	if (link->large)
		keep_queues_short(ac->c.fd);
	link->ac = ac;
	link->given = link->read_us = 0;
	link->watch = watch_new(link->loop, ac->c.fd, on_ready, link);
	ac->ev.data = link;
	ac->ev.addWrite = on_add_write;
	ac->ev.delWrite = on_del_write;
	ac->ev.cleanup = on_cleanup;
	link->want_write = true;
	arm(link);
	secret_write_begin(&ac->c);
	link->logging_in = true;
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
	attach(link, redisAsyncConnect(address, link->port));
}

static void
go(struct link *link)
{
	const char *host = link->host;
	uint8_t binary[sizeof(struct in6_addr)];
	if (link->socket != NULL)
		attach(link, redisAsyncConnectUnix(link->socket));
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
	timer_set(&link->timer, link->conf->store.timeout_ms);
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
	link->backoff_ms = BACKOFF_FIRST_MS;
	timer_clear(&link->timer);
	if (link->channels == NULL)
		timer_set(&link->timer, PULSE_MS);
	else
		handshake_subscribe(link);
	if (link->said_down) {
		struct logline line = log_begin(
		    is_of_cluster(link) ? EV_node_up : EV_store_up);
		log_end(&line);
	}
	link->said_down = false;
	link->events.changed(link->events.arg, true);
}

/* Notices a Redis that fell silent even when no request needs it. */
static void
pulse(struct link *link)
{
	timer_set(&link->timer, link->conf->store.timeout_ms);
	link->pulse = handshake_pulse(link);
}

void
link_lives(struct link *link)
{
	link->pulse = NULL;
	link->backoff_ms = 0;
	timer_set(&link->timer, PULSE_MS);
}

/* --- life --- */

struct link *
link_new(struct loop *loop, const struct conf *conf, const struct link_to *to,
    const struct link_events *events)
{
	struct link *link = mem_zero(sizeof *link);
	link->loop = loop;
	link->conf = conf_ref(conf);
	link->socket = mem_text(to->socket);
	link->host = mem_text(to->host);
	link->port = to->port;
	link->sentinel = to->sentinel;
	link->large = to->large;
	link->events = *events;
	link->channels = mem_text(events->channels);
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
	l->said_down = true; /* our own doing is no news */
	link_reset(l, "closed");
	timer_clear(&l->timer);
	loop_unhook(l->loop, HOOK_FLUSH, &l->flush);
	conf_unref(&l->conf);
	free(l->socket);
	free(l->host);
	free(l->address);
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

static void
on_reply(redisAsyncContext *ac, void *reply, void *arg)
{
	(void)ac;
	struct link_call *call = arg;
	call->done(call, reply);
}

void
link_send(
    struct link *link, struct link_call *call, const struct resp *command)
{
	must(link->ac != NULL);
	link->given += (int64_t)command->len;
	call->sent_us = clock_us();
	silence_begin(link, call);
	/* It refuses only while it disconnects, and nobody sends then. */
	must(redisAsyncFormattedCommand(link->ac, on_reply, call,
		 command->bytes, command->len) == REDIS_OK);
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
