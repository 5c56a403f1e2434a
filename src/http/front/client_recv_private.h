/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <microhttpd.h>

struct client_connection;
struct front;

/*
 * What libmicrohttpd reads of a client comes through here, so that it sees
 * nothing that head/wire.h does not find right.  libmicrohttpd has no hook for
 * that, but calls recv(), and gnutls_record_recv() over TLS, by name: the
 * program has functions of these names, which the linker exports, and the
 * dynamic linker finds them first.  front/selftest.h tries at start that it
 * does.  All other callers of the two are served as ever.  The front's thread.
 */

struct gnutls_session_int;

ssize_t client_recv_plain(int fd, void *bytes, size_t len, int flags)
    __asm__("recv");
ssize_t client_recv_tls(struct gnutls_session_int *session, void *bytes,
    size_t len) __asm__("gnutls_record_recv");

/* Runs a daemon of that front once. */
void client_recv_run(struct front *front, struct MHD_Daemon *daemon);

/* A connection begins, or has ended, on its descriptor. */
void client_recv_begin(struct client_connection *connection);
void client_recv_end(struct client_connection *connection);
/* NULL: there is none. */
struct client_connection *client_recv_of(const struct front *front, int fd);

/*
 * Reads past libmicrohttpd, without blocking: bytes; 0 at the end; -1 and
 * EAGAIN, or another errno where the connection is broken.
 */
ssize_t client_recv_raw(
    struct client_connection *connection, void *bytes, size_t len);
/* Sends past it, in the same way. */
ssize_t client_recv_send(
    struct client_connection *connection, const void *bytes, size_t len);
