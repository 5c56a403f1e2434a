/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/container.h"
#include "base/loop/log.h"
#include "base/loop/resolve.h"
#include "base/mem.h"
#include "base/must.h"
#include "base/swappable.h"
#include "base/test_build.h"
#include "store/redis/info.h"
#include "store/redis/link.h"
#include "store/redis/master.h"
#include "store/redis/redis_error.h"
#include "store/redis/reply_reader.h"
#include "store/redis/tls_session.h"

enum {
	BACKOFF_FIRST_MS = 50,
	BACKOFF_MAX_MS = 1000,
	PULSE_MS = 1000, /* between two signs of life */
	MESSAGE_BYTES = 160,
	READ_BYTES = 16 * 1024,
	OUT_FIRST_BYTES = 1024,
	OUT_KEPT_BYTES = 64 * 1024, /* of the buffer, once all has left */
	LARGE_KERNEL_BYTES = 128 * 1024,
	UNSEEN = -1, /* link_call.untaken, before the first look */
};

enum link_state {
	LINK_DOWN,       /* until the timer fires, for the next try */
	/* An attempt, which the timer ends: */
	LINK_FINDING,    /* nobody knows yet where the master is */
	LINK_CONNECTING, /* the host is resolved, and the socket connects */
	LINK_SECURING,   /* TLS shakes hands */
	LINK_SHAKING,    /* the replies of our own handshake come */
	LINK_UP,         /* the timer is the pulse's */
};

struct link {
	struct loop *loop;
	const struct conf *conf;
	const struct conf_redis *redis; /* of that */
	struct link_events events;
	char *channels; /* NULL: it sends and does not listen */

	/* The server that it leads to. */
	char *socket;  /* NULL: TCP, to host and port */
	char *host;    /* NULL: not yet known */
	uint16_t port;
	char *address; /* of host, as last resolved; NULL: never */
	char *name;    /* that its certificate must have; NULL: host */
	struct master_follower follower;
	unsigned went; /* the number of the master it was sent to; 0: none */
	bool sentinel; /* it leads to a Sentinel */
	bool bare;
	bool large;
	bool unpulsed;

	/* Its life, from down to up and back. */
	enum link_state state;
	struct timer timer;
	int64_t backoff_ms;
	bool tried_in_vain; /* an attempt has failed since it was last up */
	struct resolve_lookup *lookup;
	char message[MESSAGE_BYTES]; /* why it went down */
	bool said_down; /* the log has it that it is down, … */
	bool said_login; /* … as Redis does not accept our login */
	bool said_odd;  /* the log has it that it was told nonsense */

	/* The connection. */
	struct watch *watch; /* NULL: there is none */
	int fd;
	struct tls_session *tls; /* NULL: it has no TLS */
	bool secret;     /* a password may be in out */
	unsigned wanted; /* what is watched for */
	char *out;       /* what is to leave: from sent to len */
	size_t size, len, sent;
	int64_t given; /* bytes of all commands so far */
	struct reply_reader *reader;
	int64_t read_us; /* when the last bytes came; 0: none have */
	struct hook flush;

	/* The calls without a reply, as they were sent; the first is the next
	 * to have one. */
	struct list calls;
	struct link_call *pulse; /* of those; NULL: none is on its way */
	unsigned handshake; /* replies of the handshake still to come */
	bool subscribed;    /* Redis has confirmed that it listens */
	bool telling;       /* a done() is told of its reply, or heard() */
	bool doomed;        /* to be cut when that has returned */
	struct redis_clock clock;
};

/* --- what the log hears --- */

/* The password is never in it. */
static void
log_reason(const struct link *link, enum event event)
{
	struct logline line = log_begin(event);
	if (link->socket != NULL || link->host != NULL)
		log_str(&line, "redis",
		    link->socket ? link->socket : link->host);
	if (link->host != NULL)
		log_int(&line, "port", link->port);
	log_str(&line, "error", link->message);
	log_end(&line);
}

/* --- going down --- */

/* The connection is gone, or was never made. */
static void
go_down(struct link *link)
{
	bool was_up = link->state == LINK_UP;
	link->state = LINK_DOWN;
	link->handshake = 0;
	link->doomed = link->subscribed = false;
	link->pulse = NULL;
	timer_set(&link->timer, link->backoff_ms);
	link->backoff_ms = link->backoff_ms ? 2 * link->backoff_ms
					    : BACKOFF_FIRST_MS;
	if (link->backoff_ms > BACKOFF_MAX_MS)
		link->backoff_ms = BACKOFF_MAX_MS;
	if (!was_up)
		link->tried_in_vain = true;
	/*
	 * Once each time that it goes down, and once more where a login is why
	 * it stays down: nothing else will end that.
	 */
	bool refused = redis_error_is_login(span_str(link->message));
	bool again = link->said_down && refused && !link->said_login;
	bool (*tells)(void *arg, const char *message) = link->events.tells;
	if (tells != NULL && (!link->said_down || again)) {
		if (again)
			(void)tells(link->events.arg, NULL);
		link->said_down = true;
		link->said_login = refused;
		if (tells(link->events.arg, link->message))
			log_reason(link, link->redis->cluster.count > 0
				? EV_node_down
				: EV_store_down);
	}
	link->events.changed(
	    link->events.arg, was_up ? LINK_WENT_DOWN : LINK_FAILED);
}

void
link_reset(struct link *link, const char *message)
{
	const struct linger linger = {.l_onoff = 1, .l_linger = 0};
	struct link_call *call;
	/* An older reason to cut it is the true one. */
	if (!link->doomed && message != link->message)
		snprintf(link->message, sizeof link->message, "%s", message);
	if (link->telling) {
		link->doomed = true;
		return;
	}
	resolve_cancel(&link->lookup);
	bool connected = link->watch != NULL;
	if (connected) {
		/* Redis drops what it has not read yet: a TCP reset. */
		setsockopt(
		    link->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
		watch_free(&link->watch);
		close(link->fd);
		tls_session_free(&link->tls);
		reply_reader_free(&link->reader);
		if (link->secret && link->out != NULL)
			sodium_memzero(link->out, link->size);
		free(link->out);
		link->out = NULL;
		link->size = link->len = link->sent = 0;
		link->secret = false;
		link->wanted = 0;
		link->read_us = 0;
	}
	/* A call that is sent while the others end, ends with them. */
	while ((call = LIST_FIRST(&link->calls, struct link_call, of_link)) !=
	    NULL) {
		list_remove(&call->of_link);
		call->done(call, NULL);
	}
	if (connected || link->state != LINK_DOWN)
		go_down(link);
}

void
link_distrust(struct link *link, const char *message)
{
	if (link->doomed)
		return;
	link->doomed = true;
	snprintf(link->message, sizeof link->message, "%s", message);
	if (!link->said_odd && !link->bare)
		log_reason(link, EV_store_garbled);
	link->said_odd = true;
}

/* After a read or write: true where errno says that it has ended. */
static bool
has_failed(struct link *link)
{
	if (errno == EAGAIN || errno == EINTR)
		return false;
	link_reset(link, link->tls != NULL && errno == EPROTO
		? tls_session_message(link->tls)
		: strerror(errno));
	return true;
}

/* --- commands out --- */

/*
 * Bytes that have left make room where they are most of the buffer, so that
 * little is moved.  A buffer of a secret moves without leaving a copy.
 */
static void
make_room(struct link *link, size_t more)
{
	size_t left = link->len - link->sent;
	size_t size = link->size ? link->size : OUT_FIRST_BYTES;
	if (link->sent < left)
		size *= 2;
	while (size < left + more)
		size *= 2;
	char *out = size != link->size ? mem_zero(size) : link->out;
	if (left > 0)
		memmove(out, link->out + link->sent, left);
	if (out != link->out) {
		if (link->secret && link->out != NULL)
			sodium_memzero(link->out, link->size);
		free(link->out);
	}
	link->out = out;
	link->size = size;
	link->len = left;
	link->sent = 0;
}

void
link_send(
    struct link *link, struct link_call *call, const struct resp *command)
{
	must(link->state != LINK_DOWN);
	link->given += (int64_t)command->len;
	call->sent_us = call->moved_us = clock_us();
	call->end = link->given;
	call->untaken = UNSEEN;
	list_add_last(&link->calls, &call->of_link);
	/* While the calls of a link that is lost end, this one joins them. */
	if (link->watch == NULL)
		return;
	if (command->len > link->size - link->len)
		make_room(link, command->len);
	memcpy(link->out + link->len, command->bytes, command->len);
	link->len += command->len;
}

static void
want(struct link *link, unsigned wanted)
{
	if (link->wanted != wanted)
		watch_want(link->watch, wanted);
	link->wanted = wanted;
}

/*
 * Writes what the other side has room for, and watches for more room where
 * something is left.  False: the connection has ended.
 */
static bool
write_out(struct link *link)
{
	if (link->sent < link->len) {
		struct span rest = span_of(
		    link->out + link->sent, link->len - link->sent);
		ssize_t put = link->tls != NULL
		    ? tls_session_put(link->tls, rest)
		    : send(link->fd, rest.ptr, rest.len, MSG_NOSIGNAL);
		if (put < 0 && has_failed(link))
			return false;
		link->sent += put > 0 ? (size_t)put : 0;
	}
	if (link->sent < link->len) {
		want(link, WATCH_READ | WATCH_WRITE);
		return true;
	}
	if (link->secret && link->out != NULL)
		sodium_memzero(link->out, link->size);
	link->secret = false;
	link->len = link->sent = 0;
	if (link->size > OUT_KEPT_BYTES) {
		free(link->out);
		link->out = NULL;
		link->size = 0;
	}
	want(link, WATCH_READ);
	return true;
}

/*
 * All commands of this turn leave with one write.  Where the socket is watched
 * for room, on_ready() writes.
 */
static bool
on_flush(void *arg)
{
	struct link *link = arg;
	if (link->watch != NULL && link->wanted == WATCH_READ &&
	    link->state != LINK_SECURING && link->sent < link->len)
		write_out(link);
	return false;
}

/* --- commands of its own: handshake, subscription and pulse --- */

struct own_call {
	struct link_call call;
	struct link *link;
	bool may_fail;
	int type; /* of its reply, where that is no error */
};

/* Words end with NULL. */
static struct link_call *
send_own(struct link *link, const char *const *words, bool may_fail, int type,
    void (*done)(struct link_call *call, const redisReply *reply))
{
	struct resp command = {0};
	size_t count = 0;
	while (words[count] != NULL)
		count++;
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
	return &own->call;
}

/*
 * "psubscribe", pattern, and how many patterns there are now; or "pmessage",
 * pattern, channel, message.
 */
static bool
is_of_channels(const struct link *link, const redisReply *reply,
    struct span kind, size_t elements)
{
	return reply->type == REDIS_REPLY_ARRAY &&
	    reply->elements == elements &&
	    span_eq(resp_text(reply->element[0]), kind) &&
	    span_eq(resp_text(reply->element[1]), span_str(link->channels));
}

static void
on_subscribed(struct link_call *call, const redisReply *reply)
{
	struct own_call *own = CONTAINER_OF(call, struct own_call, call);
	struct link *link = own->link;
	free(own);
	if (reply == NULL)
		return;
	if (is_of_channels(link, reply, SPAN("psubscribe"), 3)) {
		link->subscribed = true;
		link->backoff_ms = BACKOFF_FIRST_MS;
	} else if (reply->type == REDIS_REPLY_ERROR) {
		if (link->events.refused != NULL)
			link->events.refused(link->events.arg, reply->str);
		link_reset(link, reply->str);
	} else {
		link_distrust(link, "a reply to another command");
	}
}

/* All replies of the handshake are there. */
static void
come_up(struct link *link)
{
	link->state = LINK_UP;
	link->tried_in_vain = false;
	timer_clear(&link->timer);
	if (link->channels != NULL) {
		const char *words[] = {"PSUBSCRIBE", link->channels, NULL};
		send_own(link, words, false, REDIS_REPLY_ARRAY, on_subscribed);
	} else {
		/* At once (0) tries only what lived to see a pulse. */
		link->backoff_ms = BACKOFF_FIRST_MS;
		if (!link->unpulsed)
			timer_set(&link->timer, PULSE_MS);
	}
	if (link->said_down && link->events.tells(link->events.arg, NULL))
		log_event(link->redis->cluster.count > 0 ? EV_node_up
							 : EV_store_up);
	link->said_down = link->said_login = false;
	link->events.changed(link->events.arg, LINK_CAME_UP);
}

/* To a command of the handshake, or to a pulse. */
static void
on_own_reply(struct link_call *call, const redisReply *reply)
{
	struct own_call *sent = CONTAINER_OF(call, struct own_call, call);
	const struct own_call own = *sent;
	struct link *link = own.link;
	int64_t ms;
	free(sent);
	if (reply == NULL)
		return;
	if (reply->type == REDIS_REPLY_ERROR) {
		if (!own.may_fail || (link->bare &&
			redis_error_of_reply(reply) != REDIS_ERROR_NOPERM))
			link_reset(link, reply->str);
	} else if (reply->type == REDIS_REPLY_STRING &&
	    !info_is_master(span_of(reply->str, reply->len)) &&
	    INVARIANT(master_only)) {
		link_reset(link, "Redis is a replica");
	} else if (reply->type != own.type ||
	    (reply->type == REDIS_REPLY_ARRAY && !resp_read_time(reply, &ms))) {
		link_distrust(link, "a reply to another command");
	} else if (reply->type == REDIS_REPLY_ARRAY) {
		redis_clock_heard(
		    &link->clock, ms, own.call.sent_us, clock_us());
	}
	if (link->doomed)
		return;
	if (link->handshake == 0) {
		link->pulse = NULL;
		link->said_odd = false;
		link->backoff_ms = 0;
		timer_set(&link->timer, PULSE_MS);
	} else if (--link->handshake == 0) {
		come_up(link);
	}
}

/*
 * Everything in one write: who we are, which database, a name for CLIENT LIST,
 * the time, the role, and PING, which a server that is still loading refuses.
 * A Sentinel has neither databases nor a clock, and one without a password
 * refuses our AUTH, which is no fault: one that wants another password refuses
 * PING.  A server that somebody else named as the master may no longer be one;
 * where the user may not run INFO, the answer to the first write will tell.
 */
static void
begin_handshake(struct link *link)
{
	const struct conf_redis *redis = link->redis;
	const struct conf_login own = {redis->user, redis->password};
	struct swappable_object *held =
	    redis->login != NULL ? swappable_acquire(redis->login) : NULL;
	const struct conf_login *login = held != NULL ? held->object : &own;
	bool whole = !link->bare, store = whole && !link->sentinel;
	char db[24];
	snprintf(db, sizeof db, "%" PRId64, redis->db);
	bool has_password = login->password != NULL && !redis->managed;
	const struct {
		bool sent;
		const char *words[4];
		bool may_fail;
		int type;
	} commands[] = {
	    {has_password && login->user != NULL,
		{"AUTH", login->user, login->password}, link->sentinel,
		REDIS_REPLY_STATUS},
	    {has_password && login->user == NULL, {"AUTH", login->password},
		link->sentinel, REDIS_REPLY_STATUS},
	    {redis->db != 0 && store, {"SELECT", db}, false,
		REDIS_REPLY_STATUS},
	    {true, {"CLIENT", "SETNAME", "onceproxy"}, true,
		REDIS_REPLY_STATUS},
	    {store, {"TIME"}, false, REDIS_REPLY_ARRAY},
	    {whole && link->follower.master != NULL, {"INFO", "replication"},
		true, REDIS_REPLY_STRING},
	    {whole, {"PING"}, false, REDIS_REPLY_STATUS},
	};
	link->handshake = 0;
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		if (!commands[i].sent)
			continue;
		link->handshake++;
		send_own(link, commands[i].words, commands[i].may_fail,
		    commands[i].type, on_own_reply);
	}
	swappable_release(&held);
}

/* --- replies in --- */

/*
 * False: the connection has ended.  What comes while no call waits is a
 * message, or an error (Redis has too many connections).
 */
static bool
take_replies(struct link *link)
{
	const redisReply *reply;
	const char *fault;
	while ((reply = reply_reader_next(link->reader, &fault)) != NULL) {
		struct link_call *call =
		    LIST_FIRST(&link->calls, struct link_call, of_link);
		link->telling = true;
		if (call != NULL) {
			list_remove(&call->of_link);
			call->done(call, reply);
		} else if (link->subscribed &&
		    is_of_channels(link, reply, SPAN("pmessage"), 4) &&
		    reply->element[2]->type == REDIS_REPLY_STRING &&
		    reply->element[3]->type == REDIS_REPLY_STRING) {
			link->said_odd = false;
			link->events.heard(
			    link->events.arg, resp_text(reply->element[3]));
		} else if (link->subscribed) {
			link_distrust(link, "a message of an unexpected form");
		} else if (reply->type == REDIS_REPLY_ERROR) {
			link_reset(link, reply->str);
		} else {
			link_distrust(link, "a reply that nobody asked for");
		}
		link->telling = false;
		if (link->doomed) {
			link_reset(link, link->message);
			return false;
		}
	}
	if (fault == NULL)
		return true;
	link_distrust(link, fault);
	link_reset(link, link->message);
	return false;
}

/* TLS may hold more than the socket tells of. */
static void
read_in(struct link *link)
{
	char bytes[READ_BYTES];
	bool more = false;
	do {
		ssize_t got = link->tls != NULL
		    ? tls_session_get(link->tls, bytes, sizeof bytes, &more)
		    : recv(link->fd, bytes, sizeof bytes, 0);
		if (got == 0)
			link_reset(link, "Server closed the connection");
		else if (got < 0)
			has_failed(link);
		if (got <= 0)
			return;
		link->read_us = clock_us();
		reply_reader_feed(link->reader, span_of(bytes, (size_t)got));
		if (!take_replies(link))
			return;
	} while (more);
}

/* --- connecting --- */

static void
on_ready(void *arg, unsigned events)
{
	struct link *link = arg;
	if (link->state == LINK_CONNECTING) {
		int error = 0;
		socklen_t size = sizeof error;
		if (!(events & WATCH_WRITE))
			return;
		if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error,
			&size) != 0)
			error = errno;
		if (error != 0) {
			link_reset(link, strerror(error));
			return;
		}
		link->state =
		    link->tls != NULL ? LINK_SECURING : LINK_SHAKING;
	}
	if (link->state == LINK_SECURING) {
		enum tls_session_step step = tls_session_shake(link->tls);
		if (step == TLS_SESSION_FAILED)
			link_reset(link, tls_session_message(link->tls));
		else if (step != TLS_SESSION_READY)
			want(link, step == TLS_SESSION_READS ? WATCH_READ
							     : WATCH_WRITE);
		if (step != TLS_SESSION_READY)
			return;
		link->state = LINK_SHAKING;
		events = WATCH_READ | WATCH_WRITE; /* of the handshake's end */
	}
	if ((events & WATCH_WRITE) && !write_out(link))
		return;
	if (events & WATCH_READ)
		read_in(link);
}

/* A socket that may still be connecting; -1: errno says why there is none. */
static int
open_socket(const struct link *link)
{
	union {
		struct sockaddr any;
		struct sockaddr_un local;
		struct sockaddr_storage room;
	} to = {.local = {.sun_family = AF_UNIX}};
	socklen_t size = sizeof to.local;
	const int on = 1;
	if (link->socket != NULL) {
		size_t len = strlen(link->socket);
		if (len >= sizeof to.local.sun_path) {
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(to.local.sun_path, link->socket, len);
	} else {
		struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
		    .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
		struct addrinfo *list = NULL;
		char port[sizeof "65535"];
		snprintf(port, sizeof port, "%u", (unsigned)link->port);
		if (getaddrinfo(link->address, port, &hints, &list) != 0) {
			errno = EADDRNOTAVAIL;
			return -1;
		}
		size = list->ai_addrlen;
		memcpy(&to, list->ai_addr, size);
		freeaddrinfo(list);
	}
	int fd = socket(to.any.sa_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, &to.any, size) != 0 &&
	    errno != EINPROGRESS) {
		int error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	/* Commands are small, and each turn of the loop writes but once. */
	if (fd >= 0 && link->socket == NULL)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return fd;
}

/*
 * The handshake's commands wait in out until the socket stands.  They may hold
 * a password, which must leave no copy in memory: out is a secret until all of
 * it has left once.
 */
static void
begin_connection(struct link *link)
{
	const int kernel_bytes = LARGE_KERNEL_BYTES;
	int fd = open_socket(link);
	if (fd < 0) {
		link_reset(link, strerror(errno));
		return;
	}
	link->fd = fd;
	if (link->redis->tls.on && link->socket == NULL)
		link->tls = tls_session_new(&link->redis->tls,
		    link->name != NULL ? link->name : link->host, fd);
	link->secret = true;
	link->reader = reply_reader_new();
	link->watch = watch_new(link->loop, fd, 0, on_ready, link);
	want(link, WATCH_READ | WATCH_WRITE);
	if (link->large) {
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kernel_bytes,
		    sizeof kernel_bytes);
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kernel_bytes,
		    sizeof kernel_bytes);
	}
	link->given = 0;
	begin_handshake(link);
}

static void
on_resolved(void *arg, const char *address)
{
	struct link *link = arg;
	link->lookup = NULL;
	if (address == NULL) {
		link_reset(link, "the host has no address");
		return;
	}
	free(link->address);
	link->address = mem_str(span_str(address));
	begin_connection(link);
}

static void
connect_to_host(struct link *link)
{
	const char *host = link->host;
	uint8_t binary[sizeof(struct in6_addr)];
	if (link->socket != NULL)
		begin_connection(link);
	else if (inet_pton(AF_INET, host, binary) == 1 ||
	    inet_pton(AF_INET6, host, binary) == 1)
		on_resolved(link, host);
	else
		link->lookup =
		    resolve_start(link->loop, host, on_resolved, link);
}

/*
 * Goes to where the master is; without one, when it is known.  Where that has
 * moved, it is cut, and connects again at once.
 */
static void
follow_master(void *arg)
{
	struct link *link = arg;
	char host[SENTINEL_HOST_BYTES];
	uint16_t port;
	unsigned number = master_where(link->follower.master, host, &port);
	if (number != 0 && link->state == LINK_FINDING) {
		link->went = number;
		link->state = LINK_CONNECTING;
		free(link->host);
		link->host = mem_str(span_str(host));
		link->port = port;
		connect_to_host(link);
	} else if (link->went != 0 && link->went != number) {
		bool said_down = link->said_down, said_login = link->said_login;
		/* Our own doing is no news. */
		link->said_down = link->said_login = true;
		link_reset(link, "Redis has moved");
		link->said_down = said_down;
		link->said_login = said_login;
		link->tried_in_vain = false;
		link->backoff_ms = 0;
		timer_set(&link->timer, 0);
	}
}

bool
link_is_behind(const struct link *link)
{
	char host[SENTINEL_HOST_BYTES];
	uint16_t port;
	return link->went != master_where(link->follower.master, host, &port);
}

/* --- silence --- */

/* For so many ms it may still be silent, if something moved last then. */
static int64_t
left_since(const struct link *link, int64_t moved_us)
{
	int64_t left_us =
	    moved_us + link->redis->timeout_ms * 1000 - clock_us();
	return left_us > 0 ? (left_us + 999) / 1000 : 0;
}

/*
 * Bytes of a reply that come are a sign of life for every call.  Bytes of a
 * command that leave are one for that command and those behind it alone, and
 * only until the other side has taken them: the kernel of a server that is
 * frozen takes small commands all the same.
 */
int64_t
link_left_ms(struct link *link, struct link_call *call)
{
	if (link->watch == NULL)
		return 0;
	if (call->untaken != 0) {
		int64_t before = call->untaken;
		int in_kernel = 0;
		if (ioctl(link->fd, SIOCOUTQ, &in_kernel) != 0)
			in_kernel = 0;
		int64_t untaken = call->end - link->given +
		    (int64_t)(link->len - link->sent) + in_kernel;
		call->untaken = untaken > 0 ? untaken : 0;
		/* At the first look, it is still on its way. */
		if (before == UNSEEN ? untaken > 0 : untaken < before)
			call->moved_us = clock_us();
	}
	if (call->moved_us < link->read_us)
		call->moved_us = link->read_us;
	return left_since(link, call->moved_us);
}

/* The pulse notices a Redis that fell silent even when no request needs it. */
static void
on_timer(void *arg)
{
	struct link *link = arg;
	char message[MESSAGE_BYTES];
	const char *what = "no answer";
	int64_t left_ms = 0;
	if (link->state == LINK_DOWN) {
		timer_set(&link->timer, link->redis->timeout_ms);
		bool led = link->follower.master != NULL;
		link->state = led ? LINK_FINDING : LINK_CONNECTING;
		if (led)
			follow_master(link);
		else
			connect_to_host(link);
		return;
	}
	if (link->state == LINK_UP && link->pulse == NULL) {
		const char *words[] = {link->sentinel ? "PING" : "TIME", NULL};
		timer_set(&link->timer, link->redis->timeout_ms);
		link->pulse = send_own(link, words, true,
		    link->sentinel ? REDIS_REPLY_STATUS : REDIS_REPLY_ARRAY,
		    on_own_reply);
		return;
	}
	/* The handshake may just be being answered. */
	if (link->state == LINK_UP)
		left_ms = link_left_ms(link, link->pulse);
	else if (link->read_us > 0)
		left_ms = left_since(link, link->read_us);
	if (left_ms > 0) {
		timer_set(&link->timer, left_ms);
		return;
	}
	if (link->state != LINK_UP)
		what = link->state == LINK_FINDING
		    ? "its location was not learned"
		    : link->state == LINK_SECURING ? "no TLS handshake"
						   : "no connection";
	snprintf(message, sizeof message, "%s within %s", what,
	    link->redis == &link->conf->store.redis ? "store.timeout"
						    : "the broker's timeout");
	link_reset(link, message);
}

/* --- for its owner --- */

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
	link->bare = to->bare;
	link->large = to->large;
	link->unpulsed = to->unpulsed;
	link->events = *events;
	link->channels = mem_text(events->channels);
	list_init(&link->calls);
	if (to->master != NULL && to->socket == NULL && to->host == NULL)
		master_follow(
		    to->master, &link->follower, loop, follow_master, link);
	timer_init(&link->timer, loop, on_timer, link);
	loop_hook(loop, HOOK_FLUSH, &link->flush, on_flush, link);
	/* Not before the next turn: only then is the owner ready for events. */
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
	if (l->said_down)
		(void)l->events.tells(l->events.arg, NULL);
	/* Our own doing is no news. */
	l->said_down = l->said_login = true;
	master_unfollow(&l->follower);
	link_reset(l, "closed");
	timer_clear(&l->timer);
	loop_unhook(&l->flush);
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
