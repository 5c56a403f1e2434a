/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <fcntl.h>
#include <hiredis/async.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/must.h"
#include "store/link.h"
#include "store/login.h"
#include "store/resolve.h"

enum {
	BACKOFF_FIRST_MS = 50,
	BACKOFF_MOST_MS = 1000,
	PULSE_MS = 1000, /* how often a quiet Redis is asked for the time */
	WORDS_BYTES = 160,
};

enum link_state {
	LINK_DOWN,       /* until the timer says to try again */
	LINK_CONNECTING, /* resolve, connect, handshake; the timer limits it */
	LINK_UP,         /* the timer is that of the pulse */
};

struct link {
	struct loop *loop;
	const struct conf *conf;
	char *socket;   /* NULL: TCP, to host and port */
	char *host;
	uint16_t port;
	char *channels; /* NULL: it sends and does not listen */
	struct link_events events;

	enum link_state state;
	bool tried_in_vain; /* since it was last up */
	bool said_down;     /* the log has it */
	bool pulsing;       /* a pulse is on its way */
	int64_t backoff_ms;
	struct timer timer;
	struct lookup *lookup;

	redisAsyncContext *ac; /* gone once on_cleanup was called */
	struct watch *watch;
	bool want_write; /* hiredis has bytes to write */
	bool armed;      /* and waits for the descriptor */
	struct hook flush;

	unsigned greeting; /* replies of the handshake to come */
	bool logging_in;   /* a password may be among what is to be written */
	bool doomed;       /* to be reset once hiredis has returned */
	char words[WORDS_BYTES]; /* why it went down */
	struct redis_clock clock;
};

static void start(struct link *link);
static void greet(struct link *link);
static void pulse(struct link *link);

/* --- down --- */

static void
set_words(struct link *link, const char *words)
{
	snprintf(link->words, sizeof link->words, "%s", words);
}

/* Once for each time that it goes down; the password is not in it. */
static void
say_down(struct link *link)
{
	if (link->said_down || link->channels != NULL)
		return;
	link->said_down = true;
	struct logline line = log_begin(EV_store_down);
	log_str(&line, "redis", link->socket ? link->socket : link->host);
	if (link->socket == NULL)
		log_int(&line, "port", link->port);
	log_str(&line, "error", link->words);
	log_end(&line);
}

/* The connection is gone, or did not come about. */
static void
went_down(struct link *link)
{
	bool was_up = link->state == LINK_UP;
	link->state = LINK_DOWN;
	link->greeting = 0;
	link->pulsing = link->doomed = false;
	timer_set(&link->timer, link->backoff_ms);
	link->backoff_ms = link->backoff_ms ? 2 * link->backoff_ms
					    : BACKOFF_FIRST_MS;
	if (link->backoff_ms > BACKOFF_MOST_MS)
		link->backoff_ms = BACKOFF_MOST_MS;
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
link_reset(struct link *link, const char *words)
{
	lookup_cancel(&link->lookup);
	set_words(link, words);
	if (link->ac == NULL) {
		if (link->state != LINK_DOWN)
			went_down(link);
		return;
	}
	struct linger linger = {.l_onoff = 1, .l_linger = 0};
	setsockopt(
	    link->ac->c.fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
	/* Ends the calls and comes back in on_cleanup. */
	redisAsyncFree(link->ac);
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
		link_reset(link, "no connection within store.timeout");
		break;
	case LINK_UP:
		if (link->pulsing)
			link_reset(link, "no answer within store.timeout");
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

/* The one sign that hiredis is about to free its context, on every way. */
static void
on_cleanup(void *arg)
{
	struct link *link = arg;
	if (link->ac->err != 0)
		set_words(link, link->ac->errstr);
	if (link->logging_in)
		login_end(&link->ac->c);
	link->logging_in = false;
	watch_free(&link->watch);
	link->ac = NULL;
	link->want_write = link->armed = false;
	went_down(link);
}

/* Waits for the descriptor where the bytes did not all leave. */
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
		link_reset(link, link->words);
}

static void
write_out(struct link *link)
{
	if (link->logging_in)
		link->logging_in = !login_send(&link->ac->c);
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
	if (link->ac != NULL && events & WATCH_READ)
		redisAsyncHandleRead(link->ac);
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
fail(struct link *link, const char *words)
{
	set_words(link, words);
	went_down(link);
}

static void
attach(struct link *link, redisAsyncContext *ac)
{
	if (ac == NULL || ac->err != 0) {
		fail(link, ac ? ac->errstr : "no memory");
		/* No callbacks are set: it only frees. */
		if (ac != NULL)
			redisAsyncFree(ac);
		return;
	}
	fcntl(ac->c.fd, F_SETFD, FD_CLOEXEC);
	link->ac = ac;
	link->watch = watch_new(link->loop, ac->c.fd, on_ready, link);
	ac->ev.data = link;
	ac->ev.addWrite = on_add_write;
	ac->ev.delWrite = on_del_write;
	ac->ev.cleanup = on_cleanup;
	link->want_write = true;
	arm(link);
	login_begin(&ac->c);
	link->logging_in = true;
	greet(link);
}

static void
connect_to(void *arg, const char *address)
{
	struct link *link = arg;
	link->lookup = NULL;
	if (address == NULL)
		fail(link, "the host has no address");
	else
		attach(link, redisAsyncConnect(address, link->port));
}

static void
start(struct link *link)
{
	const char *host = link->host;
	uint8_t binary[sizeof(struct in6_addr)];
	link->state = LINK_CONNECTING;
	timer_set(&link->timer, link->conf->store.timeout_ms);
	if (link->socket != NULL)
		attach(link, redisAsyncConnectUnix(link->socket));
	else if (inet_pton(AF_INET, host, binary) == 1 ||
	    inet_pton(AF_INET6, host, binary) == 1)
		connect_to(link, host);
	else
		link->lookup =
		    lookup_start(link->loop, host, connect_to, link);
}

/* --- the handshake --- */

/* Other replies than that of TIME are not looked at. */
static void
heard_time(struct link *link, const redisReply *reply, int64_t sent_us)
{
	int64_t ms;
	if (resp_read_time(reply, &ms))
		redis_clock_heard(&link->clock, ms, sent_us, clock_us());
}

struct own_call { /* a call of the link itself */
	struct link_call call;
	struct link *link;
	bool may_fail;
};

static void
on_message(redisAsyncContext *ac, void *message, void *arg)
{
	struct link *link = arg;
	struct span bytes;
	(void)ac;
	if (message != NULL && resp_read_message(message, &bytes))
		link->events.heard(link->events.arg, bytes);
}

static void
listen_to(struct link *link)
{
	redisAsyncCommand(
	    link->ac, on_message, link, "PSUBSCRIBE %s", link->channels);
}

static void
came_up(struct link *link)
{
	link->state = LINK_UP;
	link->tried_in_vain = false;
	/* At once only after one that lasted for a pulse. */
	link->backoff_ms = BACKOFF_FIRST_MS;
	timer_clear(&link->timer);
	if (link->channels == NULL)
		timer_set(&link->timer, PULSE_MS);
	else
		listen_to(link);
	if (link->said_down) {
		struct logline line = log_begin(EV_store_up);
		log_end(&line);
	}
	link->said_down = false;
	link->events.changed(link->events.arg, true);
}

static void
on_greeting(struct link_call *call, const redisReply *reply)
{
	struct own_call *own = (struct own_call *)(void *)call;
	struct link *link = own->link;
	bool refused = reply != NULL && reply->type == REDIS_REPLY_ERROR &&
	    !own->may_fail;
	if (reply != NULL && !refused)
		heard_time(link, reply, call->sent_us);
	free(own);
	if (reply == NULL || link->doomed)
		return;
	if (refused) {
		set_words(link, reply->str);
		link->doomed = true;
		return;
	}
	if (--link->greeting == 0)
		came_up(link);
}

static void
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
}

/*
 * Everything in one go: who we are, which database, a name for CLIENT LIST,
 * the time, and PING, which a server that is still loading refuses.
 */
static void
greet(struct link *link)
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
	link->greeting = 3U + with_password + (store->db != 0);
	if (with_password && store->user != NULL)
		send_own(link, 3, auth, false, on_greeting);
	else if (with_password)
		send_own(link, 2, auth_default, false, on_greeting);
	if (store->db != 0)
		send_own(link, 2, select, false, on_greeting);
	send_own(link, 3, name, true, on_greeting);
	send_own(link, 1, time, false, on_greeting);
	send_own(link, 1, ping, false, on_greeting);
}

/* --- the pulse --- */

static void
on_pulse(struct link_call *call, const redisReply *reply)
{
	struct own_call *own = (struct own_call *)(void *)call;
	struct link *link = own->link;
	if (reply != NULL) {
		heard_time(link, reply, call->sent_us);
		link->pulsing = false;
		link->backoff_ms = 0;
		timer_set(&link->timer, PULSE_MS);
	}
	free(own);
}

/* A Redis that fell silent is noticed without a request of ours. */
static void
pulse(struct link *link)
{
	const char *time[] = {"TIME"};
	link->pulsing = true;
	timer_set(&link->timer, link->conf->store.timeout_ms);
	send_own(link, 1, time, true, on_pulse);
}

/* --- life --- */

static char *
copy(const char *text)
{
	return text != NULL ? mem_str(span_str(text)) : NULL;
}

struct link *
link_new(struct loop *loop, const struct conf *conf, const struct link_to *to,
    const struct link_events *events)
{
	struct link *link = mem_zero(sizeof *link);
	link->loop = loop;
	link->conf = conf_ref(conf);
	link->socket = copy(to->socket);
	link->host = copy(to->host);
	link->port = to->port;
	link->events = *events;
	link->channels = copy(events->channels);
	timer_init(&link->timer, loop, on_timer, link);
	loop_hook(loop, HOOK_FLUSH, &link->flush, on_flush, link);
	/* In the first turn: the owner hears of it when it is ready to. */
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
	call->sent_us = clock_us();
	/* It refuses only while it disconnects, and nobody sends then. */
	must(redisAsyncFormattedCommand(link->ac, on_reply, call,
		 command->bytes, command->len) == REDIS_OK);
}

struct redis_clock *
link_clock(struct link *link)
{
	return &link->clock;
}
