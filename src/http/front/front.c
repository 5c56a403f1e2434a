/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/front/client_connection_private.h"
#include "http/front/client_recv_private.h"
#include "http/front/early_response_private.h"
#include "http/front/exchange_private.h"
#include "http/front/front_private.h"
#include "http/front/spin_private.h"
#include "http/front/tls_private.h"

enum {
	/* As tolerant as possible: what it is shown has no Host. */
	LENIENT = -1,
	/* Who has just connected sends a request within so long. */
	NEW_CLIENT_MS = 1000,
	/* Who has begun to ask, and is asked for his place, has so long. */
	DAWDLES_MS = 1000,
};

/* --- taking connections --- */

static struct MHD_Daemon *daemon_of(struct front *front, bool tls);

/* Where it fails, libmicrohttpd has closed the socket. */
void
front_take(struct front *front, const struct arrival *arrival)
{
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

static void
on_taken(void *arg, const struct arrival *arrival)
{
	front_take(arg, arrival);
}

void
front_count(
    struct front *front, struct counter *turned_away, struct counter *spun)
{
	acceptor_count(front->acceptor, turned_away);
	front->spin.found = spun;
}

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
	if (c->over)
		return false;
	/* It has its answer, and is read so that it can take it. */
	if (c->x != NULL && early_response_is_sent(c->x))
		return long_at_it;
	if (c->held != 0)
		return false;
	if (c->doing == DOING_ANSWER)
		return long_at_it;
	if (c->doing == DOING_BODY)
		return long_at_it && !client_connection_has_more(c);
	return (c->doing == DOING_HEAD || c->x == NULL) &&
	    !client_connection_has_more(c);
}

/* The one that should go sooner, of two that came together the second. */
static bool
goes_before(
    const struct client_connection *c, const struct client_connection *other)
{
	bool asks = c->doing > DOING_HEAD;
	bool other_asks = other != NULL && other->doing > DOING_HEAD;
	if (other == NULL || asks != other_asks)
		return other == NULL || other_asks;
	return c->since_ms <= other->since_ms;
}

static bool
on_full(void *arg)
{
	struct front *front = arg;
	struct client_connection *first = NULL;
	for (struct client_connection *c = front->all; c != NULL;
	     c = c->next_of_all)
		if (may_go(c) && goes_before(c, first))
			first = c;
	if (first == NULL)
		return false;
	client_connection_cut(first);
	client_connection_leave(first);
	return true;
}

/* How long it may yet take to send its request; 0: nobody waits for it. */
static int64_t
awaited_ms(const struct client_connection *c)
{
	if (c->x != NULL)
		return c->x->head_seen ? 0 : NEW_CLIENT_MS;
	int64_t age_ms = loop_now_ms(c->front->loop) - c->began_ms;
	return c->asked || age_ms >= NEW_CLIENT_MS ? 0
						   : NEW_CLIENT_MS - age_ms;
}

bool
front_is_quiet(struct front *front)
{
	for (const struct client_connection *c = front->all; c != NULL;
	     c = c->next_of_all) {
		int64_t ms = awaited_ms(c);
		if (ms == 0)
			continue;
		timer_set(&front->awaits, ms);
		return false;
	}
	return true;
}

/* The turn is all that is wanted. */
static void
on_awaited(void *arg)
{
	(void)arg;
}

/* --- running libmicrohttpd --- */

/*
 * After MHD_run a timeout of 0 means that more is to be done at once: a
 * connection that was resumed, or one whose answer is out and whose next
 * request is already in its buffer.  Blocking with that pending freezes
 * clients.
 */
static void
run_engine(struct engine *engine)
{
	MHD_UNSIGNED_LONG_LONG wait_ms;
	client_recv_run(engine->front, engine->daemon);
	client_connection_drop_unbegun(
	    engine->front, engine == &engine->front->engines[1]);
	if (MHD_get_timeout(engine->daemon, &wait_ms) != MHD_YES)
		timer_clear(&engine->timeout);
	else if (wait_ms == 0)
		engine->front->dirty = true;
	else if (!timer_is_set(&engine->timeout))
		timer_set(&engine->timeout, (int64_t)wait_ms);
}

static void
run_engines(struct front *front)
{
	front->dirty = front->filled = false;
	for (int i = 0; i < 2; i++)
		if (front->engines[i].daemon != NULL)
			run_engine(&front->engines[i]);
}

/* A body is read on in the same turn, as far as others can wait. */
static bool
on_work(void *arg)
{
	struct front *front = arg;
	if (!front->dirty)
		return false;
	run_engines(front);
	for (int runs = 1; front->dirty && front->filled &&
	     runs < FRONT_RUNS_AT_ONCE;
	     runs++)
		run_engines(front);
	spin_ran(front);
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

/* --- life --- */

static struct MHD_Daemon *
start_daemon(struct front *front, bool tls)
{
	struct MHD_OptionItem options[] = {
	    {tls ? MHD_OPTION_HTTPS_PRIORITIES : MHD_OPTION_END, 0,
		(void *)(uintptr_t)tls_priorities},
	    {MHD_OPTION_HTTPS_CERT_CALLBACK2, 0,
		(void *)(uintptr_t)tls_no_certificate},
	    {MHD_OPTION_END, 0, NULL},
	};
	/* What it would log is about single clients: no news. */
	unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET |
	    MHD_ALLOW_SUSPEND_RESUME | MHD_USE_SUPPRESS_DATE_NO_CLOCK;
	if (tls)
		flags |= MHD_USE_TLS;
	return MHD_start_daemon(flags, 0, NULL, NULL, exchange_on_request,
	    front,
	    MHD_OPTION_STRICT_FOR_CLIENT, LENIENT,
	    MHD_OPTION_URI_LOG_CALLBACK, exchange_on_line,
	    front,
	    MHD_OPTION_NOTIFY_COMPLETED, exchange_on_completed,
	    front,
	    MHD_OPTION_NOTIFY_CONNECTION, client_connection_on_change,
	    front,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)FRONT_POOL_BYTES,
	    MHD_OPTION_CONNECTION_LIMIT,
	    /* Who makes way leaves a turn later, as do those after him. */
	    front->places->most + 1 + 2 * ACCEPT_WAYS_MAX,
	    MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

/* The daemon for such connections, started with the first; NULL: it cannot. */
static struct MHD_Daemon *
daemon_of(struct front *front, bool tls)
{
	struct engine *engine = &front->engines[tls];
	if (engine->daemon != NULL)
		return engine->daemon;
	struct MHD_Daemon *daemon = start_daemon(front, tls);
	if (daemon == NULL)
		return NULL;
	const union MHD_DaemonInfo *info =
	    MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
	must(info != NULL);
	engine->front = front;
	engine->daemon = daemon;
	timer_init(&engine->timeout, front->loop, on_timeout, engine);
	engine->events =
	    watch_new(front->loop, info->epoll_fd, on_events, engine);
	watch_want(engine->events, WATCH_READ);
	return daemon;
}

static void
stop_engine(struct engine *engine)
{
	watch_free(&engine->events);
	timer_clear(&engine->timeout);
	client_recv_run(engine->front, engine->daemon);
	MHD_stop_daemon(engine->daemon);
}

struct front *
front_new(struct loop *loop, const struct conf *conf, struct budget *budget,
    struct places *places, void (*arrived)(void *arg, struct exchange *x),
    void *arg)
{
	struct front *front = mem_zero(sizeof *front);
	front->loop = loop;
	front->conf = conf_ref(conf);
	front->max_head = (size_t)conf->max_request_headers;
	front->budget = budget;
	front->places = places;
	front->arrived = arrived;
	front->arg = arg;
	loop_hook(loop, HOOK_WORK, &front->work, on_work, front);
	timer_init(&front->awaits, loop, on_awaited, front);
	front->acceptor =
	    acceptor_new(loop, conf, places, on_taken,
		places->reserved ? on_full : NULL, front);
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
	acceptor_free(&f->acceptor);
	timer_clear(&f->awaits);
	loop_unhook(&f->work);
	tls_let_go(f);
	spin_let_go(f);
	for (int i = 0; i < 2; i++)
		if (f->engines[i].daemon != NULL)
			stop_engine(&f->engines[i]);
	while (f->all != NULL)
		client_connection_drop(f, f->all->fd);
	head_queue_end_front(f);
	free(f->by_fd);
	conf_unref(&f->conf);
	free(f);
}
