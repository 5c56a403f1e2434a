/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <sys/socket.h>

#include "conf/conf.h"
#include "base/loop.h"

/*
 * Accepting: takes connections off the listening sockets of one worker and
 * hands them on, up to a limit; one beyond it is told so and closed, instead
 * of being left to wait in the backlog.  It knows nothing of libmicrohttpd.
 * The worker's thread only.
 */
struct acceptor;

/*
 * taken() gets each new connection, a non-blocking descriptor that is its to
 * close.  open() says how many there are, max is the limit.
 */
struct acceptor *acceptor_new(struct loop *loop, const struct conf *conf,
    unsigned max, unsigned (*open)(void *arg),
    void (*taken)(void *arg, int fd, const struct sockaddr *sa, socklen_t len),
    void *arg);
/* Accepts on a listening socket from now on, and closes it in the end. */
void acceptor_listen(struct acceptor *acceptor, int fd);
/* Closes the listening sockets; nulls the pointer, accepts NULL. */
void acceptor_free(struct acceptor **acceptor);
