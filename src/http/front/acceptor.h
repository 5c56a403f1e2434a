/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <sys/socket.h>

#include "base/loop/loop.h"
#include "conf/conf.h"
#include "http/front/places.h"

/*
 * The acceptor takes connections off the listening sockets of one front and
 * hands them on, up to a limit.  One beyond it is told so and closed, and not
 * left to wait in the backlog.  It knows nothing of libmicrohttpd.  The
 * front's thread only.
 *
 * Circle: acceptor, proxy_protocol.  A connection that begins with a proxy's
 * header is taken later, as one of whom that speaks for.
 */
struct acceptor;

/* A new connection. */
struct arrival {
	int fd; /* non-blocking; the one who takes it closes it */
	const struct sockaddr *address;
	socklen_t address_len;
	const struct conf *conf;    /* which tls is a part of */
	const struct conf_tls *tls; /* NULL: it speaks plain HTTP */
};

/*
 * taken() is given each new connection that there is a place for, which it
 * gives back.  make_way() ends a connection that is idle, and gives its place
 * back at once; false: none is.  NULL: none makes way, and one too many is
 * turned away, and counted there, unless that is NULL.  The acceptor holds a
 * reference to conf.
 */
struct counter;
struct acceptor *acceptor_new(struct loop *loop, const struct conf *conf,
    struct places *places, struct counter *turned_away,
    void (*taken)(void *arg, const struct arrival *arrival),
    bool (*make_way)(void *arg), void *arg);
/*
 * So many may make way before taken()'s owner runs what it has: they are still
 * there until then.
 */
enum { ACCEPT_WAYS_MAX = 8 };
/*
 * Accepts on a listening socket from now on, and closes it in the end.
 * entry: its place in the configuration's listen; ACCEPT_PLAIN: it has none.
 * kept: other processes have it too, so it is still there when we close it.
 */
#define ACCEPT_PLAIN SIZE_MAX
void acceptor_listen(
    struct acceptor *acceptor, int fd, size_t entry, bool kept);
/*
 * New connections are taken as that configuration's entry of the same address
 * says; where it has none any more, they are taken as before.
 */
void acceptor_reload(struct acceptor *acceptor, const struct conf *conf);
/*
 * Takes those that wait to be accepted where nobody else could: with their
 * listening socket they would be reset.
 */
void acceptor_take_waiting(struct acceptor *acceptor);
/* Closes the listening sockets; nulls the pointer, accepts NULL. */
void acceptor_free(struct acceptor **acceptor);
