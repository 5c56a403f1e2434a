/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <gnutls/gnutls.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/mem.h"
#include "http/front/client_connection_private.h"
#include "http/front/client_io_private.h"
#include "http/front/deadline_private.h"
#include "http/front/front_private.h"

enum {
	/* Of a body, before others have their turn. */
	READS_AT_ONCE = 16,
};

/* The front whose libmicrohttpd runs in this thread. */
static _Thread_local struct front *running;

/* --- the socket --- */

static ssize_t
tls_errno(ssize_t n)
{
	if (n >= 0)
		return n;
	errno = n == GNUTLS_E_AGAIN || n == GNUTLS_E_INTERRUPTED ? EAGAIN
								 : EPIPE;
	return -1;
}

ssize_t
client_io_send(struct client_connection *c, const void *bytes, size_t len)
{
	if (c->session != NULL)
		return tls_errno(gnutls_record_send(c->session, bytes, len));
	return send(c->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void
on_ready(void *arg, unsigned events)
{
	struct client_connection *c = arg;
	c->ready(c, events);
}

/* One watch serves the connection for its life: to make one costs more. */
void
client_io_watch(struct client_connection *c, unsigned events,
    void (*ready)(struct client_connection *c, unsigned events))
{
	c->ready = ready;
	if (c->watch != NULL)
		watch_want(c->watch, events);
	else if (events != 0)
		c->watch =
		    watch_new(c->front->loop, c->fd, events, on_ready, c);
}

/* --- holding and giving up --- */

void
client_io_hold(struct client_connection *c)
{
	must(!c->held);
	MHD_suspend_connection(c->mhd);
	c->held = true;
}

void
client_io_release(struct client_connection *c)
{
	must(c->held);
	c->held = false;
	MHD_resume_connection(c->mhd);
	c->front->dirty = true;
}

void
client_io_give_up(struct client_connection *c)
{
	c->over = true;
	client_io_watch(c, 0, NULL);
	if (c->held)
		client_io_release(c);
	c->front->dirty = true;
}

/* A shutdown is all that ends one from outside that is not held. */
void
client_io_cut(struct client_connection *c)
{
	c->lingers = false;
	shutdown(c->fd, SHUT_RDWR);
	client_io_give_up(c);
}

/* --- what was read --- */

/* What waits, or what comes now: bytes; else as recv(). */
static ssize_t
next_bytes(struct client_connection *c, const char **ret_bytes)
{
	if (c->unread != NULL) {
		*ret_bytes = c->unread + c->unread_at;
		return (ssize_t)(c->unread_len - c->unread_at);
	}
	char *to = c->front->came;
	uint8_t number[8];
	ssize_t n;
	/* Not gnutls_record_recv, which is ours here. */
	if (c->session != NULL)
		n = tls_errno(gnutls_record_recv_seq(
		    c->session, to, CLIENT_IO_BYTES, number));
	else
		n = recvfrom(c->fd, to, CLIENT_IO_BYTES, MSG_DONTWAIT, NULL,
		    NULL);
	*ret_bytes = to;
	c->more = n == CLIENT_IO_BYTES;
	return n;
}

static void
drop_unread(struct client_connection *c)
{
	if (c->unread != c->unread_little)
		free(c->unread);
	c->unread = NULL;
}

/*
 * So many of those bytes were used, and the others wait.  No token of a client
 * stays where a core dump would have it.
 */
static void
use_bytes(struct client_connection *c, size_t len, size_t used)
{
	if (c->unread != NULL) {
		sodium_memzero(c->unread + c->unread_at, used);
		c->unread_at += used;
		if (c->unread_at == c->unread_len)
			drop_unread(c);
		return;
	}
	if (used < len) {
		c->unread_at = 0;
		c->unread_len = len - used;
		c->unread = c->unread_len > sizeof c->unread_little
		    ? mem_grow(NULL, c->unread_len)
		    : c->unread_little;
		memcpy(c->unread, c->front->came + used, c->unread_len);
	}
	sodium_memzero(c->front->came, len);
}

/* --- heads --- */

static bool
is_in_head(const struct wire *w)
{
	return w->state >= WIRE_METHOD && w->state < WIRE_BODY &&
	    !w->in_trailers;
}

/*
 * Takes what came of a head, or between two requests, up to the end of the head
 * or to what is wrong: how many bytes.
 */
static size_t
take_head(struct client_connection *c, const char *bytes, size_t len)
{
	struct wire *w = &c->wire;
	size_t at = 0, from = 0;
	while (at < len && !c->asks) {
		bool between = w->state <= WIRE_BEGIN_LF;
		at += wire_step(w, bytes + at, len - at);
		if (between)
			from = at;
		c->asks = w->verdict != HEAD_CHECK_OK ||
		    (!between && !is_in_head(w));
	}
	if (at == from)
		return at;
	/* Its bytes are kept where the exchange will have them. */
	size_t n = at - from;
	if (c->arena == NULL)
		c->arena = arena_new();
	if (c->head_room - c->head_len < n) {
		size_t room = 2 * c->head_room + n;
		char *head = arena_alloc(c->arena, room);
		if (c->head_len > 0)
			memcpy(head, c->head, c->head_len);
		c->head = head;
		c->head_room = room;
	}
	memcpy(c->head + c->head_len, bytes + from, n);
	c->head_len += n;
	return at;
}

/*
 * libmicrohttpd reads: it is shown a request, or nothing yet.  One that was
 * wrong is answered like others, and its method counts if its first line was
 * right.
 */
static ssize_t
show_request(struct client_connection *c, void *bytes, size_t len)
{
	if (c->over)
		return 0;
	if (c->asks) {
		errno = EAGAIN;
		return -1;
	}
	while (!c->asks) {
		const char *came;
		ssize_t n = next_bytes(c, &came);
		if (n <= 0 && c->doing == DOING_IDLE && is_in_head(&c->wire))
			deadline_begin(c, DOING_HEAD);
		if (n <= 0)
			return n;
		use_bytes(c, (size_t)n, take_head(c, came, (size_t)n));
	}
	bool old = c->wire.verdict != HEAD_CHECK_OK || c->wire.version_1_0;
	struct span all = span_of(c->head, c->head_len), line;
	struct span head = old ? SPAN("GET / HTTP/1.0\r\n\r\n")
			       : SPAN("GET / HTTP/1.1\r\n\r\n");
	if (span_cut(&all, '\n', &line) && span_starts(line, SPAN("HEAD ")))
		head = old ? SPAN("HEAD / HTTP/1.0\r\n\r\n")
			   : SPAN("HEAD / HTTP/1.1\r\n\r\n");
	must(head.len <= len);
	memcpy(bytes, head.ptr, head.len);
	return (ssize_t)head.len;
}

ssize_t
client_io_plain(int fd, void *bytes, size_t len, int flags)
{
	struct client_connection *c =
	    running != NULL ? client_io_of(running, fd) : NULL;
	/* Of TLS, it is GnuTLS that reads here. */
	if (c == NULL || c->mhd == NULL || c->session != NULL)
		return recvfrom(fd, bytes, len, flags, NULL, NULL);
	return show_request(c, bytes, len);
}

ssize_t
client_io_tls(struct gnutls_session_int *session, void *bytes, size_t len)
{
	uint8_t number[8];
	if (running == NULL)
		return gnutls_record_recv_seq(session, bytes, len, number);
	ssize_t n = show_request(
	    gnutls_transport_get_ptr(session), bytes, len);
	if (n >= 0)
		return n;
	return errno == EAGAIN ? GNUTLS_E_AGAIN : GNUTLS_E_PULL_ERROR;
}

/* libmicrohttpd took the socket for empty; what it resumes it reads. */
static void
on_look(void *arg)
{
	struct client_connection *c = arg;
	if (c->held || c->over)
		return;
	client_io_hold(c);
	client_io_release(c);
}

/* --- bodies --- */

/* Takes what came of one: how many bytes; all, unless its end is in there. */
static size_t
take_body(struct client_connection *c, const char *bytes, size_t len,
    size_t (*take)(void *arg, const char *bytes, size_t len), void *arg)
{
	struct wire *w = &c->wire;
	size_t at = 0;
	while (at < len && w->state != WIRE_BEGIN &&
	    w->verdict == HEAD_CHECK_OK) {
		size_t n = len - at;
		if (w->state == WIRE_BODY || w->state == WIRE_DATA) {
			n = take(arg, bytes + at,
			    n < w->left ? n : (size_t)w->left);
			if (n == 0)
				break;
		}
		at += wire_step(w, bytes + at, n);
	}
	return at;
}

enum client_body
client_io_body(struct client_connection *c,
    size_t (*take)(void *arg, const char *bytes, size_t len), void *arg)
{
	for (unsigned reads = 0; c->wire.state != WIRE_BEGIN; reads++) {
		const char *came;
		if (reads == READS_AT_ONCE)
			return CLIENT_BODY_MORE;
		ssize_t n = next_bytes(c, &came);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return CLIENT_BODY_MORE;
		if (n <= 0)
			return CLIENT_BODY_GONE;
		size_t used = take_body(c, came, (size_t)n, take, arg);
		use_bytes(c, (size_t)n, used);
		if (c->wire.verdict != HEAD_CHECK_OK)
			return CLIENT_BODY_WRONG;
		if (used < (size_t)n && c->wire.state != WIRE_BEGIN)
			return CLIENT_BODY_FULL;
	}
	return CLIENT_BODY_WHOLE;
}

/* --- life --- */

struct client_connection *
client_io_of(const struct front *front, int fd)
{
	return fd >= 0 && (size_t)fd < front->n_by_fd ? front->by_fd[fd] : NULL;
}

void
client_io_run(struct front *front, struct MHD_Daemon *daemon)
{
	running = front;
	MHD_run(daemon);
	running = NULL;
}

void
client_io_arrived(struct front *front, struct exchange *x)
{
	running = NULL;
	front->arrived(front->arg, x);
	running = front;
}

void
client_io_begin(struct client_connection *c)
{
	struct front *front = c->front;
	size_t at = (size_t)c->fd;
	if (at >= front->n_by_fd) {
		size_t count = 2 * at + 64;
		front->by_fd =
		    mem_grow(front->by_fd, count * sizeof *front->by_fd);
		memset(front->by_fd + front->n_by_fd, 0,
		    (count - front->n_by_fd) * sizeof *front->by_fd);
		front->n_by_fd = count;
	}
	front->by_fd[at] = c;
	wire_init(&c->wire, front->max_head);
	c->look = (struct task){.run = on_look, .arg = c};
}

void
client_io_end(struct client_connection *c)
{
	c->front->by_fd[c->fd] = NULL;
	task_cancel(&c->look);
	watch_free(&c->watch);
	arena_free(&c->arena);
	if (c->unread != NULL)
		sodium_memzero(c->unread, c->unread_len);
	drop_unread(c);
}
