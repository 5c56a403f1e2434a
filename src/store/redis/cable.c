/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <linux/sockios.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/redis/cable.h"
#include "store/redis/open_socket.h"
#include "store/redis/reply_reader.h"
#include "store/redis/tls_session.h"

enum {
	READ_BYTES = 16 * 1024,
	OUT_FIRST_BYTES = 1024,
	OUT_KEPT_BYTES = 64 * 1024, /* of the buffer, once all has left */
	LARGE_KERNEL_BYTES = 128 * 1024,
};

struct cable {
	int fd;
	struct tls_session *tls; /* NULL: none */
	struct cable_events events;
	struct watch *watch;
	struct reply_reader *reader;
	bool connecting; /* the socket; then it shakes hands, with TLS */
	bool shaking;
	unsigned wanted; /* what is watched for */
	bool secret; /* a password may be in out */
	char *out;   /* what is to leave: from sent to len */
	size_t size, len, sent;
	int64_t read_us;
};

/* --- the socket, with TLS or without --- */

/* How much was taken; -1, and errno says why not. */
static ssize_t
put_bytes(struct cable *cable, struct span bytes)
{
	if (cable->tls != NULL)
		return tls_session_put(cable->tls, bytes);
	return send(cable->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
}

/* How much came; 0: the end; -1, and errno says why nothing did. */
static ssize_t
get_bytes(struct cable *cable, char *bytes, size_t size)
{
	if (cable->tls != NULL)
		return tls_session_get(cable->tls, bytes, size);
	return recv(cable->fd, bytes, size, 0);
}

static const char *
message_of(const struct cable *cable, int error)
{
	return cable->tls != NULL && error == EPROTO
	    ? tls_session_message(cable->tls)
	    : strerror(error);
}

/* --- the end --- */

static void
end(struct cable *cable, enum cable_end how, const char *message)
{
	cable->events.ended(cable->events.arg, how, message);
}

static bool
is_not_ready(void)
{
	return errno == EAGAIN || errno == EINTR;
}

/* --- writing --- */

static void
want(struct cable *cable, unsigned wanted)
{
	if (cable->wanted != wanted)
		watch_want(cable->watch, wanted);
	cable->wanted = wanted;
}

/* What it watches for, once it stands. */
static void
arm(struct cable *cable)
{
	want(cable, cable->sent < cable->len ? WATCH_READ | WATCH_WRITE
					     : WATCH_READ);
}

/* All has left. */
static void
empty_out(struct cable *cable)
{
	if (cable->secret)
		sodium_memzero(cable->out, cable->size);
	cable->secret = false;
	cable->len = cable->sent = 0;
	if (cable->size <= OUT_KEPT_BYTES)
		return;
	free(cable->out);
	cable->out = NULL;
	cable->size = 0;
}

/* False: it has ended. */
static bool
write_out(struct cable *cable)
{
	if (cable->sent == cable->len)
		return true;
	ssize_t put = put_bytes(cable,
	    span_of(cable->out + cable->sent, cable->len - cable->sent));
	if (put < 0 && !is_not_ready()) {
		end(cable, CABLE_BROKE, message_of(cable, errno));
		return false;
	}
	cable->sent += put > 0 ? (size_t)put : 0;
	if (cable->sent == cable->len)
		empty_out(cable);
	return true;
}

void
cable_flush(struct cable *cable)
{
	if (cable->wanted == WATCH_READ && !cable->shaking &&
	    cable->sent < cable->len && write_out(cable))
		arm(cable);
}

/*
 * What has left makes room where it is most of the buffer, so that little is
 * moved.  A buffer of a secret moves without leaving a copy.
 */
static void
make_room(struct cable *cable, size_t more)
{
	size_t left = cable->len - cable->sent;
	size_t size = cable->size ? cable->size : OUT_FIRST_BYTES;
	if (cable->sent < left)
		size *= 2;
	while (size < left + more)
		size *= 2;
	char *out = cable->out;
	if (size != cable->size)
		out = mem_zero(size);
	if (left > 0)
		memmove(out, cable->out + cable->sent, left);
	if (out != cable->out && cable->secret && cable->out != NULL)
		sodium_memzero(cable->out, cable->size);
	if (out != cable->out)
		free(cable->out);
	cable->out = out;
	cable->size = size;
	cable->len = left;
	cable->sent = 0;
}

void
cable_give(struct cable *cable, struct span bytes)
{
	if (bytes.len > cable->size - cable->len)
		make_room(cable, bytes.len);
	memcpy(cable->out + cable->len, bytes.ptr, bytes.len);
	cable->len += bytes.len;
}

int64_t
cable_backlog(const struct cable *cable)
{
	int in_kernel = 0;
	if (ioctl(cable->fd, SIOCOUTQ, &in_kernel) != 0)
		in_kernel = 0;
	return (int64_t)(cable->len - cable->sent) + in_kernel;
}

/* --- reading --- */

/* False: it has ended. */
static bool
read_replies(struct cable *cable)
{
	const struct redisReply *reply;
	bool goes_on = true;
	while (goes_on && (reply = reply_reader_next(cable->reader)) != NULL)
		goes_on = cable->events.replied(cable->events.arg, reply);
	const char *fault = goes_on ? reply_reader_fault(cable->reader) : "";
	if (fault != NULL)
		end(cable, CABLE_ODD, fault);
	return fault == NULL;
}

/* False: it has ended, or has nothing more that the socket would not tell. */
static bool
read_some(struct cable *cable)
{
	char bytes[READ_BYTES];
	ssize_t got = get_bytes(cable, bytes, sizeof bytes);
	if (got < 0 && is_not_ready())
		return false;
	if (got <= 0) {
		end(cable, CABLE_BROKE, got == 0
			? "Server closed the connection"
			: message_of(cable, errno));
		return false;
	}
	cable->read_us = clock_us();
	reply_reader_feed(cable->reader, span_of(bytes, (size_t)got));
	return read_replies(cable) && cable->tls != NULL &&
	    tls_session_has_more(cable->tls);
}

static void
read_in(struct cable *cable)
{
	while (read_some(cable))
		;
}

int64_t
cable_read_us(const struct cable *cable)
{
	return cable->read_us;
}

/* --- life --- */

/* False: it has ended. */
static bool
is_connected(struct cable *cable)
{
	int error = cable->connecting ? open_socket_error(cable->fd) : 0;
	cable->connecting = false;
	if (error != 0)
		end(cable, CABLE_BROKE, strerror(error));
	return error == 0;
}

/* False: it has ended, or waits. */
static bool
shake_hands(struct cable *cable)
{
	switch (tls_session_shake(cable->tls)) {
	case TLS_SESSION_READY:
		cable->shaking = false;
		return true;
	case TLS_SESSION_READS:
		want(cable, WATCH_READ);
		return false;
	case TLS_SESSION_WRITES:
		want(cable, WATCH_WRITE);
		return false;
	case TLS_SESSION_FAILED:
		break;
	}
	end(cable, CABLE_BROKE, tls_session_message(cable->tls));
	return false;
}

static void
on_ready(void *arg, unsigned events)
{
	struct cable *cable = arg;
	if (cable->connecting && !(events & WATCH_WRITE))
		return;
	if (cable->connecting && !is_connected(cable))
		return;
	if (cable->shaking) {
		if (!shake_hands(cable))
			return;
		events = WATCH_READ | WATCH_WRITE; /* of the handshake's end */
	}
	if (events & WATCH_WRITE) {
		if (!write_out(cable))
			return;
		arm(cable);
	}
	if (events & WATCH_READ)
		read_in(cable);
}

struct cable *
cable_new(struct loop *loop, int fd, struct tls_session *tls,
    const struct cable_events *events)
{
	struct cable *cable = mem_zero(sizeof *cable);
	cable->fd = fd;
	cable->tls = tls;
	cable->events = *events;
	cable->reader = reply_reader_new();
	cable->connecting = cable->secret = true;
	cable->shaking = tls != NULL;
	cable->watch = watch_new(loop, fd, on_ready, cable);
	want(cable, WATCH_READ | WATCH_WRITE);
	return cable;
}

void
cable_free(struct cable **cable)
{
	struct cable *w = *cable;
	const struct linger linger = {.l_onoff = 1, .l_linger = 0};
	*cable = NULL;
	if (w == NULL)
		return;
	setsockopt(w->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
	watch_free(&w->watch);
	close(w->fd);
	tls_session_free(&w->tls);
	reply_reader_free(&w->reader);
	if (w->secret && w->out != NULL)
		sodium_memzero(w->out, w->size);
	free(w->out);
	free(w);
}

void
cable_keep_queues_short(struct cable *cable)
{
	const int bytes = LARGE_KERNEL_BYTES;
	setsockopt(cable->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
	setsockopt(cable->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}
