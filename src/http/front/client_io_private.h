/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <microhttpd.h>

struct client_connection;
struct exchange;
struct front;

/*
 * What goes through a client's socket, beside libmicrohttpd's answers: all that
 * the client sends comes through here, and head/wire.h judges it.
 *
 * libmicrohttpd is shown a request without a body in the place of each, no more
 * than GET or HEAD and the version: so it has nothing to take apart, or to read
 * in another way than we do, its pool may be small, and an answer may be given
 * at any time.  Until that is out it is shown nothing more.  It has no hook for
 * that, but calls recv(), and gnutls_record_recv() over TLS, by name: the
 * program has functions of these names, which the linker exports, and the
 * dynamic linker finds them first.  front/selftest.h tries at start that it
 * does.  All other callers of the two are served as ever.
 *
 * A body is read when its exchange wants it.  What lies behind in what was read
 * waits, one read at most.  The front's thread.
 */
enum {
	/* What is read at once: a record of TLS comes whole. */
	CLIENT_IO_BYTES = 16384,
};

struct gnutls_session_int;

ssize_t client_io_plain(int fd, void *bytes, size_t len, int flags)
    __asm__("recv");
ssize_t client_io_tls(struct gnutls_session_int *session, void *bytes,
    size_t len) __asm__("gnutls_record_recv");

/* Runs a daemon of that front once. */
void client_io_run(struct front *front, struct MHD_Daemon *daemon);
/*
 * Tells of a request, within such a run: what its owner reads of TLS of others,
 * an upstream's, is not taken for a client's.
 */
void client_io_arrived(struct front *front, struct exchange *x);
/* A connection begins, or has ended, on its descriptor. */
void client_io_begin(struct client_connection *c);
void client_io_end(struct client_connection *c);
/* NULL: there is none. */
struct client_connection *client_io_of(const struct front *front, int fd);

/*
 * libmicrohttpd leaves it alone while it is held: it runs nothing of it, and
 * sees none of its events.
 */
void client_io_hold(struct client_connection *c);
void client_io_release(struct client_connection *c);
/*
 * Gives it up: libmicrohttpd closes it when it runs.  Cut, nothing goes out any
 * more, and the client is not read.
 */
void client_io_give_up(struct client_connection *c);
void client_io_cut(struct client_connection *c);

/*
 * Calls ready() while its socket can be read or written, as base/loop/watch.h
 * says; 0: not any more.
 */
void client_io_watch(struct client_connection *c, unsigned events,
    void (*ready)(struct client_connection *c, unsigned events));

enum client_body {
	CLIENT_BODY_MORE,  /* it goes on when the socket can be read */
	CLIENT_BODY_FULL,  /* take() took none */
	CLIENT_BODY_WHOLE,
	CLIENT_BODY_WRONG, /* and nothing more of the connection is taken */
	CLIENT_BODY_GONE,  /* the client has closed within it */
};
/* Hands what comes of the body to take(), which says how much it has taken. */
enum client_body client_io_body(struct client_connection *c,
    size_t (*take)(void *arg, const char *bytes, size_t len), void *arg);

/*
 * Sends past libmicrohttpd, without blocking: bytes; -1 and EAGAIN, or another
 * errno where the connection is broken.
 */
ssize_t client_io_send(
    struct client_connection *c, const void *bytes, size_t len);
