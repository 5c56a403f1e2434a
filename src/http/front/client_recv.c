/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <gnutls/gnutls.h>
#include <sodium.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "http/front/client_connection_private.h"
#include "http/front/client_recv_private.h"
#include "http/front/front_private.h"
#include "http/front/spin_private.h"

enum {
	/* Of what nobody wants, in one go. */
	DROPPED_AT_ONCE = 1024 * 1024,
};

/* The front whose libmicrohttpd runs in this thread. */
static _Thread_local struct front *running;

/* --- reading --- */

/* As gnutls_record_recv, which is ours here. */
static ssize_t
tls_recv(gnutls_session_t session, void *bytes, size_t len)
{
	uint8_t number[8];
	return gnutls_record_recv_seq(session, bytes, len, number);
}

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
client_recv_raw(struct client_connection *c, void *bytes, size_t len)
{
	if (c->session != NULL)
		return tls_errno(tls_recv(c->session, bytes, len));
	return recvfrom(c->fd, bytes, len, MSG_DONTWAIT, NULL, NULL);
}

ssize_t
client_recv_send(struct client_connection *c, const void *bytes, size_t len)
{
	if (c->session != NULL)
		return tls_errno(gnutls_record_send(c->session, bytes, len));
	return send(c->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The end of the head that was wrong, as far as there is room for it. */
static size_t
put_end(struct client_connection *c, char *bytes, size_t room)
{
	size_t n = c->end.len < room ? c->end.len : room;
	if (n > 0)
		memcpy(bytes, c->end.ptr, n);
	c->end = span_from(c->end, n);
	return n;
}

/*
 * What was read goes on as far as it is right.  A head that is wrong ends
 * there, and is answered like others; what is wrong in a body ends the
 * exchange.  libmicrohttpd, whose room is filled, reads again.  The bytes that
 * it is shown.
 */
static size_t
judge(struct client_connection *c, size_t got, char *to, size_t room)
{
	size_t shown, right = head_queue_take(
	    c, c->front->came, got, to, room, &shown);
	sodium_memzero(c->front->came, got);
	spin_moved(c);
	if (right == got)
		return shown;
	c->end = head_queue_finish(c);
	c->spoiled = true;
	task_ready(c->front->loop, &c->on_spoiled);
	return shown;
}

static ssize_t
read_once(struct client_connection *c, size_t len)
{
	char *came = c->front->came;
	if (c->session != NULL)
		return tls_recv(c->session, came, len);
	return recvfrom(c->fd, came, len, MSG_DONTWAIT, NULL, NULL);
}

/*
 * libmicrohttpd takes fewer bytes than it has room for as a sign that there are
 * no more, and over TLS that GnuTLS has none.
 */
static bool
has_more(const struct client_connection *c, size_t got, size_t shown,
    size_t room)
{
	if (c->session != NULL)
		return shown == 0 ||
		    gnutls_record_check_pending(c->session) > 0;
	return got == room;
}

static ssize_t
nothing_yet(const struct client_connection *c)
{
	errno = EAGAIN;
	return c->session != NULL ? GNUTLS_E_AGAIN : -1;
}

static ssize_t
read_shown(struct client_connection *c, char *bytes, size_t len)
{
	size_t had = head_queue_spilled(c, bytes, len);
	bool more = !c->spoiled && !c->over;
	while (had < len && more) {
		size_t room = len - had;
		if (room > sizeof c->front->came)
			room = sizeof c->front->came;
		ssize_t n = read_once(c, room);
		if (n <= 0)
			return had > 0 ? (ssize_t)had : n;
		size_t shown = judge(c, (size_t)n, bytes + had, room);
		had += shown;
		more = !c->spoiled && has_more(c, (size_t)n, shown, room);
	}
	/* Behind what had no room before, too: it is not asked for. */
	had += put_end(c, bytes + had, len - had);
	if (had == len)
		c->front->filled = true;
	return had > 0 ? (ssize_t)had : nothing_yet(c);
}

/* Nothing of a connection goes on that was found wrong, or was given up. */
static ssize_t
drop_rest(struct client_connection *c, char *bytes, size_t len)
{
	size_t dropped = 0;
	ssize_t n = 0;
	if (c->over)
		return 0;
	if (c->end.len > 0)
		return (ssize_t)put_end(c, bytes, len);
	while (dropped < DROPPED_AT_ONCE) {
		n = client_recv_raw(c, bytes, len);
		if (n <= 0)
			return n;
		dropped += (size_t)n;
		spin_moved(c);
	}
	c->front->dirty = true;
	errno = EAGAIN;
	return -1;
}

struct client_connection *
client_recv_of(const struct front *front, int fd)
{
	return fd >= 0 && (size_t)fd < front->n_by_fd ? front->by_fd[fd] : NULL;
}

ssize_t
client_recv_plain(int fd, void *bytes, size_t len, int flags)
{
	struct client_connection *c =
	    running != NULL ? client_recv_of(running, fd) : NULL;
	/* Of TLS, it is GnuTLS that reads here. */
	if (c == NULL || c->mhd == NULL || c->session != NULL)
		return recvfrom(fd, bytes, len, flags, NULL, NULL);
	if ((c->spoiled || c->over) && c->spilled_len == 0)
		return drop_rest(c, bytes, len);
	return read_shown(c, bytes, len);
}

ssize_t
client_recv_tls(struct gnutls_session_int *session, void *bytes, size_t len)
{
	struct client_connection *c =
	    running != NULL ? gnutls_transport_get_ptr(session) : NULL;
	if (c == NULL)
		return tls_recv(session, bytes, len);
	if ((c->spoiled || c->over) && c->spilled_len == 0) {
		ssize_t n = drop_rest(c, bytes, len);
		return n < 0 && errno == EAGAIN ? GNUTLS_E_AGAIN : n;
	}
	return read_shown(c, bytes, len);
}

/* --- whose bytes they are --- */

void
client_recv_run(struct front *front, struct MHD_Daemon *daemon)
{
	running = front;
	MHD_run(daemon);
	running = NULL;
}

void
client_recv_begin(struct client_connection *c)
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
}

void
client_recv_end(struct client_connection *c)
{
	c->front->by_fd[c->fd] = NULL;
}
