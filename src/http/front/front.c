/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/front/client_connection_private.h"
#include "http/front/client_io_private.h"
#include "http/front/exchange_private.h"
#include "http/front/front_private.h"
#include "http/front/tls_private.h"

enum {
	/* As tolerant as possible: what it is shown has no Host. */
	LENIENT = -1,
	/* Who has just connected sends a request within so long. */
	NEW_CLIENT_MS = 1000,
	/* Who has begun to ask, and is asked for his place, has so long. */
	DAWDLES_MS = 1000,
};

void
front_listen(struct front *front, int fd, size_t entry, bool kept)
{
	acceptor_listen(front->acceptor, fd, entry, kept);
}

void
front_reload(struct front *front, const struct conf *conf)
{
	conf_unref(&front->conf);
	front->conf = conf_ref(conf);
	if (front->acceptor != NULL)
		acceptor_reload(front->acceptor, conf);
}

void
front_drain(struct front *front)
{
	front->draining = true;
	acceptor_take_waiting(front->acceptor);
	acceptor_free(&front->acceptor);
}

/* It has sent what this turn of the loop has not come to yet. */
static bool
has_more(const struct client_connection *c)
{
	int waiting = 0;
	return ioctl(c->fd, FIONREAD, &waiting) != 0 || waiting > 0;
}

/*
 * Whether a client is in nobody's way when it goes: it has asked nothing yet,
 * or nothing any more.  One that dawdles with a body or an answer is so too,
 * after a while.
 */
static bool
may_go(const struct client_connection *c)
{
	bool long_at_it =
	    loop_now_ms(c->front->loop) - c->since_ms > DAWDLES_MS;
	if (c->over || c->mhd == NULL)
		return false;
	if (c->doing == DOING_ANSWER)
		return long_at_it && !c->held;
	if (c->doing == DOING_BODY)
		return long_at_it && c->x->reads && !has_more(c);
	return c->x == NULL && !c->held && !has_more(c);
}

/* Who asks nothing goes first, and of two that came together the second. */
static bool
on_full(void *arg)
{
	struct front *front = arg;
	struct client_connection *c, *first = NULL;
	if (linger_make_way(&front->lingering, DAWDLES_MS))
		return true;
	LIST_EACH(c, &front->all, link) {
		bool asks = c->doing > DOING_HEAD;
		bool other_asks = first != NULL && first->doing > DOING_HEAD;
		if (may_go(c) &&
		    (first == NULL || (other_asks && !asks) ||
			(other_asks == asks && c->since_ms <= first->since_ms)))
			first = c;
	}
	if (first == NULL)
		return false;
	client_io_cut(first);
	client_connection_leave(first);
	return true;
}

bool
front_is_quiet(struct front *front)
{
	const struct client_connection *c;
	LIST_EACH(c, &front->all, link) {
		/* So long it may yet take to send its request. */
		int64_t ms = c->wire.state >= WIRE_FIELD
		    ? NEW_CLIENT_MS
		    : NEW_CLIENT_MS + c->began_ms - loop_now_ms(front->loop);
		bool is_new =
		    c->wire.state >= WIRE_FIELD || c->wire.requests == 0;
		if (c->x != NULL || !is_new || ms <= 0)
			continue;
		timer_set(&front->awaits, ms);
		return false;
	}
	return true;
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
	MHD_UNSIGNED_LONG_LONG wait_ms;
	if (!front->dirty)
		return false;
	front->dirty = false;
	for (int i = 0; i < 2; i++) {
		struct engine *engine = &front->engines[i];
		if (engine->daemon == NULL)
			continue;
		client_io_run(front, engine->daemon);
		client_connection_drop_unbegun(front, i == 1);
		if (MHD_get_timeout(engine->daemon, &wait_ms) != MHD_YES)
			timer_clear(&engine->timeout);
		else if (wait_ms == 0)
			front->dirty = true;
		else if (!timer_is_set(&engine->timeout))
			timer_set(&engine->timeout, (int64_t)wait_ms);
	}
	return front->dirty;
}

static void
on_events(void *arg, unsigned events)
{
	struct engine *engine = arg;
	(void)events;
	engine->front->dirty = true;
}

static void
on_timeout(void *arg)
{
	struct engine *engine = arg;
	engine->front->dirty = true;
}

/* --- taking connections --- */

/* The daemon for such connections, started with the first; NULL: it cannot. */
static struct MHD_Daemon *
daemon_of(struct front *front, bool tls)
{
	struct engine *engine = &front->engines[tls];
	if (engine->daemon != NULL)
		return engine->daemon;
	struct MHD_OptionItem options[] = {
	    {tls ? MHD_OPTION_HTTPS_PRIORITIES : MHD_OPTION_END, 0,
		(void *)(uintptr_t)conf_tls_priorities},
	    {MHD_OPTION_HTTPS_CERT_CALLBACK2, 0,
		(void *)(uintptr_t)tls_no_certificate},
	    {MHD_OPTION_END, 0, NULL},
	};
	/* What it would log is about single clients: no news. */
	unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET |
	    MHD_ALLOW_SUSPEND_RESUME | MHD_USE_SUPPRESS_DATE_NO_CLOCK;
	if (tls)
		flags |= MHD_USE_TLS;
	engine->daemon = MHD_start_daemon(flags, 0, NULL, NULL,
	    exchange_on_request, front,
	    MHD_OPTION_STRICT_FOR_CLIENT, LENIENT,
	    MHD_OPTION_NOTIFY_COMPLETED, exchange_on_completed, front,
	    MHD_OPTION_NOTIFY_CONNECTION, client_connection_on_change, front,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)FRONT_POOL_BYTES,
	    MHD_OPTION_CONNECTION_LIMIT,
	    /* Who makes way leaves a turn later, as do those after him. */
	    front->places->most + 1 + 2 * ACCEPT_WAYS_MAX,
	    MHD_OPTION_ARRAY, options, MHD_OPTION_END);
	if (engine->daemon == NULL)
		return NULL;
	const union MHD_DaemonInfo *info =
	    MHD_get_daemon_info(engine->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	must(info != NULL);
	engine->front = front;
	timer_init(&engine->timeout, front->loop, on_timeout, engine);
	engine->events = watch_new(front->loop, info->epoll_fd, WATCH_READ,
	    on_events, engine);
	return engine->daemon;
}

/* Where it fails, libmicrohttpd has closed the socket. */
void
front_take(void *arg, const struct arrival *arrival)
{
	struct front *front = arg;
	struct MHD_Daemon *daemon = daemon_of(front, arrival->tls != NULL);
	client_connection_new(front, arrival);
	if (daemon == NULL)
		close(arrival->fd);
	if (daemon == NULL ||
	    MHD_add_connection(daemon, arrival->fd, arrival->address,
		arrival->address_len) != MHD_YES)
		client_connection_drop(front, arrival->fd);
	front->dirty = true;
}

/* --- life --- */

struct front *
front_new(struct loop *loop, const struct conf *conf, struct budget *budget,
    struct places *places, struct counter *turned_away,
    void (*arrived)(void *arg, struct exchange *x), void *arg)
{
	struct front *front = mem_zero(sizeof *front);
	front->loop = loop;
	front->conf = conf_ref(conf);
	front->max_head = (size_t)conf->max_request_headers;
	front->budget = budget;
	front->places = places;
	front->arrived = arrived;
	front->arg = arg;
	list_init(&front->all);
	front->lingering.loop = loop;
	list_init(&front->lingering.list);
	loop_hook(loop, HOOK_WORK, &front->work, on_work, front);
	timer_init(&front->awaits, loop, NULL, NULL);
	front->acceptor = acceptor_new(loop, conf, places, turned_away,
	    front_take, places->reserved ? on_full : NULL, front);
	return front;
}

void
front_free(struct front **front)
{
	struct front *f = *front;
	*front = NULL;
	if (f == NULL)
		return;
	f->draining = true;
	f->ending = true;
	acceptor_free(&f->acceptor);
	linger_end(&f->lingering);
	timer_clear(&f->awaits);
	loop_unhook(&f->work);
	/* Their handshakes wait. */
	struct client_connection *c;
	LIST_EACH(c, &f->all, link)
		if (c->held)
			client_io_give_up(c);
	for (int i = 0; i < 2; i++) {
		struct engine *engine = &f->engines[i];
		if (engine->daemon == NULL)
			continue;
		watch_free(&engine->events);
		timer_clear(&engine->timeout);
		client_io_run(f, engine->daemon);
		MHD_stop_daemon(engine->daemon);
	}
	LIST_EACH(c, &f->all, link)
		client_connection_drop(f, c->fd);
	free(f->by_fd);
	conf_unref(&f->conf);
	free(f);
}
