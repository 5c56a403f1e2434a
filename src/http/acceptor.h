/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <sys/socket.h>

#include "base/loop.h"
#include "conf/conf.h"

/*
 * Accepting: takes connections off the listening sockets of one worker and
 * hands them on, up to a limit; one beyond it is told so and closed, instead
 * of being left to wait in the backlog.  It knows nothing of libmicrohttpd.
 * The worker's thread only.
 */
struct acceptor;

#define ACCEPT_PLAIN SIZE_MAX

/* A new connection. */
struct arrival {
	int fd; /* non-blocking, the taker's to close */
	const struct sockaddr *address;
	socklen_t address_len;
	const struct conf *conf;    /* what the next one belongs to */
	const struct conf_tls *tls; /* NULL: it speaks plain HTTP */
};

/*
 * taken() gets each new connection.  open() says how many there are, max is
 * the limit.
 */
struct acceptor *acceptor_new(struct loop *loop, const struct conf *conf,
    unsigned max, unsigned (*open)(void *arg),
    void (*taken)(void *arg, const struct arrival *arrival), void *arg);
/* Has those counted that were turned away, by the calling thread. */
struct counter;
void acceptor_count(struct acceptor *acceptor, struct counter *turned_away);
/*
 * Accepts on a listening socket from now on, and closes it in the end.
 * entry: its place in the configuration's listen; ACCEPT_PLAIN: it has none.
 */
void acceptor_listen(struct acceptor *acceptor, int fd, size_t entry);
/*
 * New connections are taken as the entry of the same address says there; an
 * address that is not there any more stays as it was.
 */
void acceptor_reload(struct acceptor *acceptor, const struct conf *conf);
/* Closes the listening sockets; nulls the pointer, accepts NULL. */
void acceptor_free(struct acceptor **acceptor);
