/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/mem.h"
#include "http/front/client_connection_private.h"
#include "http/front/client_io_private.h"
#include "http/front/deadline_private.h"
#include "http/front/exchange_private.h"
#include "http/front/front_private.h"
#include "http/front/problem.h"
#include "http/front/tls_private.h"

enum {
	/* How long, and how much of it, is read behind an early answer. */
	LINGER_MS = 10000,
	LINGER_BYTES = 64 * 1024 * 1024,
};

/*
 * It is told so if a request has begun and nothing of an answer is out, when
 * libmicrohttpd has nothing to send either.
 */
static void
on_late(struct client_connection *c)
{
	struct mhd_exchange *x = c->x;
	bool tells = x != NULL
	    ? !x->queued && x->reply == NULL && x->large == NULL
	    : c->wire.state >= WIRE_FIELD;
	if (tells) {
		struct arena *arena = arena_new();
		struct span text = problem_text(arena, c->front->conf,
		    PROBLEM_REQUEST_TIMEOUT, SPAN(""));
		(void)!client_io_send(c, text.ptr, text.len);
		arena_free(&arena);
		if (x != NULL)
			x->shown.late = true;
	}
	client_io_cut(c);
}

/*
 * libmicrohttpd may close it without a word before it begins with it: until
 * then nothing touches the descriptor, which may be somebody else's by now.
 */
void
client_connection_new(struct front *front, const struct arrival *arrival)
{
	struct client_connection *c = mem_zero(sizeof *c);
	const int family = arrival->address->sa_family;
	const struct sockaddr_in *in = (const void *)arrival->address;
	const struct sockaddr_in6 *in6 = (const void *)arrival->address;
	const socklen_t size = sizeof c->client;
	client_connection_drop(front, arrival->fd);
	c->front = front;
	c->fd = arrival->fd;
	front->arriving++;
	c->began_ms = loop_now_ms(front->loop);
	/* Its client's address without the port. */
	if (family == AF_INET)
		inet_ntop(AF_INET, &in->sin_addr, c->client, size);
	else if (family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		inet_ntop(
		    AF_INET, in6->sin6_addr.s6_addr + 12, c->client, size);
	else if (family == AF_INET6)
		inet_ntop(AF_INET6, &in6->sin6_addr, c->client, size);
	else
		memcpy(c->client, "unix", sizeof "unix");
	if (arrival->tls != NULL) {
		c->conf = conf_ref(arrival->conf);
		c->tls = arrival->tls;
	}
	client_io_begin(c);
	list_add_first(&front->all, &c->link);
}

void
client_connection_leave(struct client_connection *c)
{
	if (!c->left)
		places_give(c->front->places);
	c->left = true;
}

/*
 * A client that still sends is read for a while behind its answer, so that it
 * gets that and not a reset.  It keeps its place.
 */
static void
end_connection(struct client_connection *c)
{
	struct front *front = c->front;
	bool lingers = c->lingers && !front->ending;
	int fd = lingers ? fcntl(c->fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (fd >= 0) {
		const struct linger_limits limits = {LINGER_MS, LINGER_BYTES,
		    c->left ? NULL : front->places};
		c->left = true;
		linger_begin(&front->lingering, fd, &limits);
	}
	client_connection_leave(c);
	c->front->arriving -= c->mhd == NULL;
	client_io_end(c);
	timer_clear(&c->deadline);
	list_remove(&c->link);
	free(c->fingerprint);
	free(c->subject);
	conf_unref(&c->conf);
	free(c);
}

void
client_connection_drop(struct front *front, int fd)
{
	struct client_connection *c = client_io_of(front, fd);
	if (c != NULL)
		end_connection(c);
}

void
client_connection_drop_unbegun(struct front *front, bool tls)
{
	struct client_connection *c;
	if (front->arriving == 0)
		return;
	LIST_EACH(c, &front->all, link)
		if (c->mhd == NULL && (c->tls != NULL) == tls)
			end_connection(c);
}

void
client_connection_on_change(void *arg, struct MHD_Connection *mhd,
    void **context, enum MHD_ConnectionNotificationCode code)
{
	struct front *front = arg;
	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		end_connection(*context);
		*context = NULL;
		return;
	}
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
	    mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	must(info != NULL);
	/* Of one that nobody gave it, nothing would be judged: better none. */
	struct client_connection *c = client_io_of(front, info->connect_fd);
	must(c != NULL && c->mhd == NULL);
	*context = c;
	c->mhd = mhd;
	front->arriving--;
	deadline_init(c, on_late);
	if (c->tls != NULL)
		tls_begin(c);
}
