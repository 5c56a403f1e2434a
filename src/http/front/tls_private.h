/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <gnutls/abstract.h>

struct arena;
struct client_certificate;
struct client_connection;

/*
 * TLS below libmicrohttpd, which makes the GnuTLS session of a connection and
 * calls its handshake.  libmicrohttpd 0.9.75 believes that a connection has
 * something to do while its handshake waits for the client, and would be run
 * without end.  So the session reads and writes the socket by functions of
 * ours, and while a handshake waits the connection is suspended and we watch
 * its socket.  The certificates are those of the configuration by which the
 * connection was accepted.  The front's thread.
 */

/* A new connection of the daemon that speaks TLS. */
void tls_begin(struct client_connection *connection);
/*
 * The certificate of its client, whose handshake has ended well; what it fills
 * in lies in the arena.
 */
void tls_certificate(struct client_connection *connection, struct arena *arena,
    struct client_certificate *ret_certificate);

/* libmicrohttpd demands it and never calls it: sessions have their own. */
gnutls_certificate_retrieve_function3 tls_no_certificate;
