/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <hiredis/hiredis.h>
#include <linux/sockios.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "redis/wire.h"
#include "redis/open_socket.h"
#include "redis/reply_reader.h"

enum {
	READ_BYTES = 16 * 1024,
	OUT_FIRST_BYTES = 1024,
	OUT_KEPT_BYTES = 64 * 1024, /* of the buffer, once all has left */
	LARGE_KERNEL_BYTES = 128 * 1024,
};

struct wire {
	int fd;
	struct wire_events events;
	struct watch *watch;
	struct reply_reader *reader;
	bool connecting;
	bool armed;  /* watches for room to write */
	bool secret; /* a password may be in out */
	char *out;   /* what is to leave: from sent to len */
	size_t size, len, sent;
	int64_t read_us;
};

/* --- the socket: TLS would have its place behind these two --- */

/* How much was taken; -1, and errno says why not. */
static ssize_t
put_bytes(struct wire *wire, struct span bytes)
{
	return send(wire->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
}

/* How much came; 0: the end; -1, and errno says why nothing did. */
static ssize_t
get_bytes(struct wire *wire, char *bytes, size_t size)
{
	return recv(wire->fd, bytes, size, 0);
}

/* --- the end --- */

static void
end(struct wire *wire, enum wire_end how, const char *message)
{
	wire->events.ended(wire->events.arg, how, message);
}

static bool
is_not_ready(void)
{
	return errno == EAGAIN || errno == EINTR;
}

/* --- writing --- */

static void
arm(struct wire *wire)
{
	bool wanted = wire->connecting || wire->sent < wire->len;
	if (wire->armed == wanted)
		return;
	wire->armed = wanted;
	watch_want(
	    wire->watch, wanted ? WATCH_READ | WATCH_WRITE : WATCH_READ);
}

/* All has left. */
static void
empty_out(struct wire *wire)
{
	if (wire->secret)
		sodium_memzero(wire->out, wire->size);
	wire->secret = false;
	wire->len = wire->sent = 0;
	if (wire->size <= OUT_KEPT_BYTES)
		return;
	free(wire->out);
	wire->out = NULL;
	wire->size = 0;
}

/* False: it has ended. */
static bool
write_out(struct wire *wire)
{
	if (wire->sent == wire->len)
		return true;
	ssize_t put = put_bytes(wire,
	    span_of(wire->out + wire->sent, wire->len - wire->sent));
	if (put < 0 && !is_not_ready()) {
		end(wire, WIRE_BROKE, strerror(errno));
		return false;
	}
	wire->sent += put > 0 ? (size_t)put : 0;
	if (wire->sent == wire->len)
		empty_out(wire);
	return true;
}

void
wire_flush(struct wire *wire)
{
	if (!wire->armed && wire->sent < wire->len && write_out(wire))
		arm(wire);
}

/*
 * What has left makes room where it is most of the buffer, so that little is
 * moved.  A buffer of a secret moves without leaving a copy.
 */
static void
make_room(struct wire *wire, size_t more)
{
	size_t left = wire->len - wire->sent;
	size_t size = wire->size ? wire->size : OUT_FIRST_BYTES;
	if (wire->sent < left)
		size *= 2;
	while (size < left + more)
		size *= 2;
	char *out = wire->out;
	if (size != wire->size)
		out = mem_zero(size);
	if (left > 0)
		memmove(out, wire->out + wire->sent, left);
	if (out != wire->out && wire->secret && wire->out != NULL)
		sodium_memzero(wire->out, wire->size);
	if (out != wire->out)
		free(wire->out);
	wire->out = out;
	wire->size = size;
	wire->len = left;
	wire->sent = 0;
}

void
wire_give(struct wire *wire, struct span bytes)
{
	if (bytes.len > wire->size - wire->len)
		make_room(wire, bytes.len);
	memcpy(wire->out + wire->len, bytes.ptr, bytes.len);
	wire->len += bytes.len;
}

int64_t
wire_backlog(const struct wire *wire)
{
	int in_kernel = 0;
	if (ioctl(wire->fd, SIOCOUTQ, &in_kernel) != 0)
		in_kernel = 0;
	return (int64_t)(wire->len - wire->sent) + in_kernel;
}

/* --- reading --- */

static void
read_replies(struct wire *wire)
{
	struct redisReply *reply;
	bool goes_on = true;
	while (goes_on && (reply = reply_reader_next(wire->reader)) != NULL) {
		goes_on = wire->events.replied(wire->events.arg, reply);
		freeReplyObject(reply);
	}
	if (!goes_on)
		end(wire, WIRE_ODD, "");
	else if (reply_reader_fault(wire->reader) != NULL)
		end(wire, WIRE_ODD, reply_reader_fault(wire->reader));
}

static void
read_in(struct wire *wire)
{
	char bytes[READ_BYTES];
	ssize_t got = get_bytes(wire, bytes, sizeof bytes);
	if (got < 0 && is_not_ready())
		return;
	if (got <= 0) {
		end(wire, WIRE_BROKE, got == 0
			? "Server closed the connection"
			: strerror(errno));
		return;
	}
	wire->read_us = clock_us();
	reply_reader_feed(wire->reader, span_of(bytes, (size_t)got));
	read_replies(wire);
}

int64_t
wire_read_us(const struct wire *wire)
{
	return wire->read_us;
}

/* --- life --- */

/* False: it has ended. */
static bool
is_connected(struct wire *wire)
{
	int error = wire->connecting ? open_socket_error(wire->fd) : 0;
	wire->connecting = false;
	if (error != 0)
		end(wire, WIRE_BROKE, strerror(error));
	return error == 0;
}

static void
on_ready(void *arg, unsigned events)
{
	struct wire *wire = arg;
	if (events & WATCH_WRITE) {
		if (!is_connected(wire) || !write_out(wire))
			return;
		arm(wire);
	}
	if (events & WATCH_READ && !wire->connecting)
		read_in(wire);
}

struct wire *
wire_new(struct loop *loop, int fd, const struct wire_events *events)
{
	struct wire *wire = mem_zero(sizeof *wire);
	wire->fd = fd;
	wire->events = *events;
	wire->reader = reply_reader_new();
	wire->connecting = wire->secret = true;
	wire->watch = watch_new(loop, fd, on_ready, wire);
	arm(wire);
	return wire;
}

void
wire_free(struct wire **wire)
{
	struct wire *w = *wire;
	const struct linger linger = {.l_onoff = 1, .l_linger = 0};
	*wire = NULL;
	if (w == NULL)
		return;
	setsockopt(w->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
	watch_free(&w->watch);
	close(w->fd);
	reply_reader_free(&w->reader);
	if (w->secret && w->out != NULL)
		sodium_memzero(w->out, w->size);
	free(w->out);
	free(w);
}

void
wire_keep_queues_short(struct wire *wire)
{
	const int bytes = LARGE_KERNEL_BYTES;
	setsockopt(wire->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
	setsockopt(wire->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}
