/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/histogram.h"
#include "base/loop/fd_reserve.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "http/front/acceptor.h"
#include "http/front/linger.h"
#include "http/front/proxy_protocol.h"
#include "http/front/problem.h"

enum {
	/* New connections that are taken in one go. */
	ACCEPTS_MAX = 64,
	/* Those that wait when a listening socket is about to be closed. */
	WAITING_MAX = 4096,
	/* How long accepting rests when descriptors have run out. */
	PAUSE_MS = 100,
	/*
	 * A refused connection is read for so long, so that its client gets
	 * the refusal and not a reset; so many at once are, for whom there are
	 * descriptors in the reserve (commands/descriptors.c).
	 */
	LINGER_MS = 1000,
	LINGERING_MAX = 32,
};

struct listener {
	struct listener *next;
	struct acceptor *acceptor;
	struct watch *watch;
	int fd;
	const struct conf *conf;
	size_t entry; /* of conf->listen, or ACCEPT_PLAIN */
	bool kept;    /* others have the socket too */
};

struct acceptor {
	struct loop *loop;
	const struct conf *conf;
	struct places *places;
	void (*taken)(void *arg, const struct arrival *arrival);
	bool (*make_way)(void *arg); /* or NULL */
	void *arg;
	unsigned ways; /* that were made in this go */
	struct listener *listeners;
	struct proxy_protocol proxied; /* whose header has not come yet */
	struct timer pause;
	int spare; /* a descriptor to refuse with when there is no other */
	struct lingering lingering;
	struct log_rate turned_away;
	struct counter *counter; /* of all of them, or NULL */
};

/* --- listening --- */

static void
want_accepts(struct acceptor *a, bool wanted)
{
	for (struct listener *l = a->listeners; l != NULL; l = l->next)
		watch_want(l->watch, wanted ? WATCH_READ : 0);
}

static void
keep_spare(struct acceptor *a)
{
	if (a->spare < 0)
		a->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void
on_pause_over(void *arg)
{
	struct acceptor *a = arg;
	keep_spare(a);
	want_accepts(a, true);
}

/* NULL where it speaks plain HTTP. */
static const struct conf_tls *
tls_of(const struct listener *listener)
{
	if (listener->entry == ACCEPT_PLAIN)
		return NULL;
	const struct conf_tls *tls =
	    &listener->conf->listen[listener->entry].tls;
	return tls->credentials != NULL ? tls : NULL;
}

/*
 * One beyond the limit is told 503 `overloaded` without waiting for a request;
 * over TLS it could read no answer before a handshake.  One that lingers keeps
 * its descriptor.
 */
static void
turn_away(struct listener *listener, int fd, bool may_linger)
{
	const struct linger_limits limits = {LINGER_MS, SIZE_MAX, NULL};
	struct acceptor *a = listener->acceptor;
	int64_t count;
	if (a->counter != NULL)
		counter_add(a->counter, 1);
	if (log_rate_is_due(&a->turned_away, &count)) {
		struct logline line = log_begin(EV_connections_full);
		log_int(&line, "turned_away", count);
		log_int(&line, "connections", a->places->most);
		log_end(&line);
	}
	if (tls_of(listener) != NULL) {
		close(fd);
		return;
	}
	struct arena *arena = arena_new();
	struct span all = problem_text(arena, a->conf, PROBLEM_OVERLOADED,
	    SPAN("The gateway has as many connections open as it is allowed "
		 "to. Nothing was forwarded."));
	bool sent = send(fd, all.ptr, all.len, MSG_DONTWAIT | MSG_NOSIGNAL) ==
	    (ssize_t)all.len;
	arena_free(&arena);
	if (!sent || !may_linger || a->lingering.count == LINGERING_MAX) {
		close(fd);
		return;
	}
	fd = fd_reserve_move(fd);
	if (fd >= 0)
		linger_begin(&a->lingering, fd, &limits);
}

/*
 * No descriptor is left.  The spare one takes the client who waits, so that
 * it is told; then accepting rests.
 */
static void
accept_with_spare(struct listener *listener)
{
	struct acceptor *a = listener->acceptor;
	if (a->spare >= 0) {
		close(a->spare);
		a->spare = -1;
		int fd = accept4(
		    listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			turn_away(listener, fd, false);
		keep_spare(a);
	}
	if (a->spare >= 0)
		return;
	want_accepts(a, false);
	timer_set(&a->pause, PAUSE_MS);
}

/* The kernel gives the lowest number: one of the reserve is one too many. */
static bool
has_place(struct acceptor *a, int fd)
{
	if (!a->places->reserved && fd >= fd_reserve.first)
		return false;
	if (places_take(a->places))
		return true;
	if (a->make_way == NULL || !a->make_way(a->arg))
		return false;
	a->ways++;
	return places_take(a->places);
}

/* Takes one connection; false when there is none. */
static bool
accept_one(struct listener *listener)
{
	struct acceptor *a = listener->acceptor;
	struct sockaddr_storage address;
	struct arrival arrival = {
	    .address = (struct sockaddr *)&address,
	    .address_len = sizeof address,
	    .conf = listener->conf,
	    .tls = tls_of(listener),
	};
	arrival.fd = accept4(listener->fd, (struct sockaddr *)&address,
	    &arrival.address_len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (arrival.fd >= 0 && !has_place(a, arrival.fd)) {
		turn_away(listener, arrival.fd, true);
	} else if (arrival.fd >= 0 && listener->entry != ACCEPT_PLAIN &&
	    proxy_protocol_expects(&listener->conf->listen[listener->entry],
		arrival.address)) {
		proxy_protocol_begin(&a->proxied, &arrival);
	} else if (arrival.fd >= 0) {
		a->taken(a->arg, &arrival);
	} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
	    errno == ENOMEM) {
		accept_with_spare(listener);
		return false;
	} else {
		return errno == EINTR || errno == ECONNABORTED;
	}
	return true;
}

static void
on_accept(void *arg, unsigned events)
{
	struct listener *listener = arg;
	struct acceptor *a = listener->acceptor;
	(void)events;
	a->ways = 0;
	for (int i = 0; i < ACCEPTS_MAX && a->ways < ACCEPT_WAYS_MAX; i++)
		if (!accept_one(listener))
			return;
}

void
acceptor_listen(struct acceptor *a, int fd, size_t entry, bool kept)
{
	struct listener *listener = mem_zero(sizeof *listener);
	*listener = (struct listener){
	    a->listeners, a, NULL, fd, conf_ref(a->conf), entry, kept};
	a->listeners = listener;
	listener->watch =
	    watch_new(a->loop, fd, WATCH_READ, on_accept, listener);
}

void
acceptor_take_waiting(struct acceptor *a)
{
	for (struct listener *l = a->listeners; l != NULL; l = l->next)
		for (int i = 0; i < WAITING_MAX && !l->kept; i++)
			if (!accept_one(l))
				break;
}

void
acceptor_reload(struct acceptor *a, const struct conf *conf)
{
	for (struct listener *l = a->listeners; l != NULL; l = l->next) {
		size_t entry = 0;
		if (l->entry == ACCEPT_PLAIN)
			continue;
		/* Of those that mean any free port only places tell. */
		const struct address *own = &l->conf->listen[l->entry].address;
		bool any_port = own->kind == ADDRESS_TCP && own->port == 0;
		while (entry < conf->n_listen &&
		    ((any_port && entry != l->entry) ||
			strcmp(own->text, conf->listen[entry].address.text) !=
			    0))
			entry++;
		if (entry == conf->n_listen)
			continue;
		conf_unref(&l->conf);
		l->conf = conf_ref(conf);
		l->entry = entry;
	}
	conf_unref(&a->conf);
	a->conf = conf_ref(conf);
}

/* --- life --- */

struct acceptor *
acceptor_new(struct loop *loop, const struct conf *conf,
    struct places *places, struct counter *turned_away,
    void (*taken)(void *arg, const struct arrival *arrival),
    bool (*make_way)(void *arg), void *arg)
{
	struct acceptor *a = mem_zero(sizeof *a);
	a->loop = loop;
	a->conf = conf_ref(conf);
	a->places = places;
	a->counter = turned_away;
	a->taken = taken;
	a->make_way = make_way;
	a->arg = arg;
	a->proxied = (struct proxy_protocol){
	    .loop = loop, .places = places, .taken = taken, .arg = arg};
	list_init(&a->proxied.list);
	a->lingering.loop = loop;
	list_init(&a->lingering.list);
	timer_init(&a->pause, loop, on_pause_over, a);
	a->spare = -1;
	keep_spare(a);
	return a;
}

void
acceptor_free(struct acceptor **acceptor)
{
	struct acceptor *a = *acceptor;
	*acceptor = NULL;
	if (a == NULL)
		return;
	timer_clear(&a->pause);
	if (a->spare >= 0)
		close(a->spare);
	linger_end(&a->lingering);
	proxy_protocol_end(&a->proxied);
	while (a->listeners != NULL) {
		struct listener *listener = a->listeners;
		a->listeners = listener->next;
		watch_free(&listener->watch);
		close(listener->fd);
		conf_unref(&listener->conf);
		free(listener);
	}
	conf_unref(&a->conf);
	free(a);
}
