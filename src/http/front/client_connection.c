/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "base/mem.h"
#include "http/front/client_connection_private.h"
#include "http/front/client_recv_private.h"
#include "http/front/deadline_private.h"
#include "http/front/exchange_private.h"
#include "http/front/front_private.h"
#include "http/front/spin_private.h"
#include "http/front/tls_private.h"

struct client_connection *
client_connection_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
	    mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	must(info != NULL && info->socket_context != NULL);
	return info->socket_context;
}

/* Its client's address without the port. */
static void
name_client(struct client_connection *connection, const struct sockaddr *sa)
{
	char *text = connection->client;
	const socklen_t size = sizeof connection->client;
	const struct sockaddr_in *in = (const void *)sa;
	const struct sockaddr_in6 *in6 = (const void *)sa;
	int family = sa != NULL ? sa->sa_family : AF_UNIX;
	if (family == AF_INET)
		inet_ntop(AF_INET, &in->sin_addr, text, size);
	else if (family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		inet_ntop(AF_INET, in6->sin6_addr.s6_addr + 12, text, size);
	else if (family == AF_INET6)
		inet_ntop(AF_INET6, &in6->sin6_addr, text, size);
	else
		memcpy(text, "unix", sizeof "unix");
}

/*
 * A head that was found wrong became a small one, of which its exchange knows
 * when it begins.  In the middle of one, nothing more comes.
 */
static void
on_spoiled(void *arg)
{
	struct client_connection *c = arg;
	c->front->dirty = true;
	if (c->x != NULL && c->x->head_seen && client_connection_is_spoiled(c))
		exchange_spoil(c->x);
}

bool
client_connection_is_spoiled(const struct client_connection *c)
{
	return c->spoiled && c->wire.requests == c->requests;
}

void
client_connection_hold(struct client_connection *c, enum holder holder)
{
	must(!(c->held & holder));
	if (c->held == 0)
		MHD_suspend_connection(c->mhd);
	c->held |= holder;
}

void
client_connection_release(struct client_connection *c, enum holder holder)
{
	must(c->held & holder);
	c->held &= ~(unsigned)holder;
	if (c->held == 0)
		MHD_resume_connection(c->mhd);
	c->front->dirty = true;
}

void
client_connection_cut(struct client_connection *c)
{
	c->over = true;
	shutdown(c->fd, SHUT_RDWR);
	c->front->dirty = true;
}

bool
client_connection_has_more(const struct client_connection *c)
{
	int waiting = 0;
	return ioctl(c->fd, FIONREAD, &waiting) != 0 || waiting > 0;
}

void
client_connection_leave(struct client_connection *c)
{
	if (!c->left)
		places_give(c->front->places);
	c->left = true;
}

/*
 * libmicrohttpd may close it without a word before it begins with it: until
 * then nothing touches the descriptor, which may be somebody else's by now.
 */
void
client_connection_new(struct front *front, const struct arrival *arrival)
{
	struct client_connection *c = mem_zero(sizeof *c);
	client_connection_drop(front, arrival->fd);
	c->front = front;
	c->fd = arrival->fd;
	c->held = HELD_BY_NOBODY_YET;
	front->arriving++;
	c->began_ms = loop_now_ms(front->loop);
	name_client(c, arrival->address);
	if (arrival->tls != NULL) {
		c->conf = conf_ref(arrival->conf);
		c->tls = arrival->tls;
	}
	client_recv_begin(c);
	task_init(&c->on_spoiled, on_spoiled, c);
	c->next_of_all = front->all;
	c->link_of_all = &front->all;
	if (c->next_of_all != NULL)
		c->next_of_all->link_of_all = &c->next_of_all;
	front->all = c;
}

static struct client_connection *
begin_connection(struct front *front, struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
	    mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	must(info != NULL);
	/* Of one that nobody gave it, nothing would be judged: better none. */
	struct client_connection *c = client_recv_of(front, info->connect_fd);
	must(c != NULL && c->held == HELD_BY_NOBODY_YET);
	c->mhd = mhd;
	c->held = 0;
	front->arriving--;
	deadline_init(c);
	if (c->tls != NULL)
		tls_begin(c);
	spin_moved(c);
	return c;
}

void
client_connection_asks(struct client_connection *connection)
{
	connection->asked = true;
	connection->requests++;
	spin_moved(connection);
}

static void
end_connection(struct client_connection *connection)
{
	client_connection_leave(connection);
	connection->front->arriving -= connection->held == HELD_BY_NOBODY_YET;
	spin_moved(connection);
	spin_forget(connection);
	client_recv_end(connection);
	head_queue_end(connection);
	task_cancel(&connection->on_spoiled);
	deadline_end(connection);
	*connection->link_of_all = connection->next_of_all;
	if (connection->next_of_all != NULL)
		connection->next_of_all->link_of_all = connection->link_of_all;
	tls_end(connection);
	free(connection);
}

void
client_connection_drop(struct front *front, int fd)
{
	struct client_connection *c = client_recv_of(front, fd);
	if (c != NULL)
		end_connection(c);
}

void
client_connection_drop_unbegun(struct front *front, bool tls)
{
	struct client_connection *next, *c = front->all;
	for (; front->arriving > 0 && c != NULL; c = next) {
		next = c->next_of_all;
		if (c->held == HELD_BY_NOBODY_YET && (c->tls != NULL) == tls)
			end_connection(c);
	}
}

void
client_connection_on_change(void *front, struct MHD_Connection *mhd,
    void **context, enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		end_connection(*context);
		*context = NULL;
	} else {
		*context = begin_connection(front, mhd);
	}
}
