/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/gaps.h"
#include "http/inside.h"

enum {
	/*
	 * Room in one pool beside the bytes of a request's head: for what
	 * libmicrohttpd notes of each field, and for an answer's head: without
	 * it the connection would be closed after the payment was made.
	 */
	NOTES_BYTES = 10 * 1024,
	ANSWER_HEAD_BYTES = 18 * 1024,
};

/* --- connections --- */

struct connection *
connection_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
	    mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	must(info != NULL && info->socket_context != NULL);
	return info->socket_context;
}

/*
 * libmicrohttpd's own time-out starts anew with every byte and counts whole
 * seconds.  A shutdown is all that ends a connection from outside of it.
 */
static void
on_deadline(void *arg)
{
	struct connection *connection = arg;
	shutdown(connection->fd, SHUT_RDWR);
	connection->front->dirty = true;
}

static void
on_connection(void *arg, struct MHD_Connection *mhd, void **context,
    enum MHD_ConnectionNotificationCode code)
{
	struct front *front = arg;
	struct connection *connection = *context;
	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		front->connections--;
		timer_clear(&connection->deadline);
		free(connection);
		*context = NULL;
		return;
	}
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
	    mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	must(info != NULL);
	connection = mem_zero(sizeof *connection);
	connection->front = front;
	connection->fd = info->connect_fd;
	timer_init(&connection->deadline, front->loop, on_deadline,
	    connection);
	timer_set(&connection->deadline, front->conf->header_timeout_ms);
	*context = connection;
	front->connections++;
}

static unsigned
count_open(void *arg)
{
	return ((struct front *)arg)->connections;
}

/* Where it fails, libmicrohttpd has closed the socket. */
static void
on_taken(void *arg, int fd, const struct sockaddr *sa, socklen_t len)
{
	struct front *front = arg;
	(void)MHD_add_connection(front->daemon, fd, sa, len);
	front->dirty = true;
}

void
front_listen(struct front *front, int fd)
{
	acceptor_listen(front->acceptor, fd);
}

void
front_reload(struct front *front, const struct conf *conf)
{
	conf_unref(&front->conf);
	front->conf = conf_ref(conf);
}

void
front_drain(struct front *front)
{
	front->draining = true;
	acceptor_free(&front->acceptor);
}

unsigned
front_connections(const struct front *front)
{
	return front->connections;
}

/* --- running libmicrohttpd --- */

/*
 * After MHD_run a timeout of 0 means that more is to be done at once: a
 * connection that was resumed, or one whose answer is out and whose next
 * request is already in its buffer.  Blocking with that pending freezes
 * clients.
 */
static bool
on_work(void *arg)
{
	struct front *front = arg;
	if (!front->dirty)
		return false;
	front->dirty = false;
	MHD_run(front->daemon);
	MHD_UNSIGNED_LONG_LONG wait_ms;
	if (MHD_get_timeout(front->daemon, &wait_ms) != MHD_YES)
		timer_clear(&front->timeout);
	else if (wait_ms == 0)
		front->dirty = true;
	else if (!timer_is_set(&front->timeout))
		timer_set(&front->timeout, (int64_t)wait_ms);
	return front->dirty;
}

static void
on_events(void *arg, unsigned events)
{
	struct front *front = arg;
	(void)events;
	front->dirty = true;
}

static void
on_timeout(void *arg)
{
	struct front *front = arg;
	front->dirty = true;
}

/* --- life --- */

/* libmicrohttpd's complaints are about single clients: no news. */
static void
no_log(void *arg, const char *fmt, va_list args)
{
	(void)arg;
	(void)fmt;
	(void)args;
}

/* Decoding is our own (http/path.h). */
static size_t
no_unescape(void *arg, struct MHD_Connection *connection, char *text)
{
	(void)arg;
	(void)connection;
	return strlen(text);
}

/* The worker's share of limits.connections. */
static unsigned
max_connections(const struct conf *conf)
{
	int64_t share =
	    (conf->max_connections + conf->workers - 1) / conf->workers;
	return (unsigned)share;
}

static struct MHD_Daemon *
start_daemon(struct front *front)
{
	const struct conf *conf = front->conf;
	size_t pool = (size_t)conf->max_request_headers + NOTES_BYTES +
	    ANSWER_HEAD_BYTES;
	unsigned idle_s = (unsigned)((conf->idle_timeout_ms + 999) / 1000);
	unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET |
	    MHD_ALLOW_SUSPEND_RESUME | MHD_USE_SUPPRESS_DATE_NO_CLOCK |
	    MHD_USE_ERROR_LOG;
	return MHD_start_daemon(flags, 0, NULL, NULL, exchange_on_request,
	    front,
	    MHD_OPTION_EXTERNAL_LOGGER, no_log, NULL,
	    MHD_OPTION_URI_LOG_CALLBACK, exchange_on_target,
	    front,
	    MHD_OPTION_UNESCAPE_CALLBACK, no_unescape, NULL,
	    MHD_OPTION_NOTIFY_COMPLETED, exchange_on_completed,
	    front,
	    MHD_OPTION_NOTIFY_CONNECTION, on_connection, front,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, pool,
	    MHD_OPTION_CONNECTION_LIMIT, max_connections(conf) + 1,
	    MHD_OPTION_CONNECTION_TIMEOUT, idle_s, MHD_OPTION_END);
}

struct front *
front_new(struct loop *loop, const struct conf *conf, struct budget *budget,
    void (*arrived)(void *arg, struct exchange *x), void *arg)
{
	struct front *front = mem_zero(sizeof *front);
	front->loop = loop;
	front->conf = conf_ref(conf);
	front->budget = budget;
	front->arrived = arrived;
	front->arg = arg;
	timer_init(&front->timeout, loop, on_timeout, front);

	front->daemon = start_daemon(front);
	must(front->daemon != NULL);
	const union MHD_DaemonInfo *info =
	    MHD_get_daemon_info(front->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	must(info != NULL);
	front->events = watch_new(loop, info->epoll_fd, on_events, front);
	watch_want(front->events, WATCH_READ);
	loop_hook(loop, HOOK_WORK, &front->work, on_work, front);
	front->checks_gaps = gaps_are_known(MHD_get_version());
	front->acceptor = acceptor_new(
	    loop, conf, max_connections(conf), count_open, on_taken, front);
	return front;
}

void
front_free(struct front **front)
{
	struct front *f = *front;
	*front = NULL;
	if (f == NULL)
		return;
	front_drain(f);
	loop_unhook(f->loop, HOOK_WORK, &f->work);
	watch_free(&f->events);
	timer_clear(&f->timeout);
	MHD_run(f->daemon);
	MHD_stop_daemon(f->daemon);
	conf_unref(&f->conf);
	free(f);
}
