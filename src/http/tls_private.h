/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <gnutls/abstract.h>

struct arrival;
struct client_connection;
struct front;

/*
 * TLS below libmicrohttpd, for front.c alone.  libmicrohttpd 0.9.75 makes the
 * GnuTLS session of a connection and calls the handshake, but it takes a
 * connection whose handshake waits for the client for one that has something
 * to do, and would be run without end.  So the session reads and writes the
 * socket by functions of ours, and while a handshake waits the connection is
 * suspended and we watch its socket.  The certificates are those that its
 * configuration had when it was accepted.
 */

/* What is spoken: TLS 1.2 and 1.3. */
extern const char tls_priorities[];

/* A new connection of the daemon that speaks TLS. */
void tls_begin(
    struct client_connection *connection, const struct arrival *arrival);
/* It is gone. */
void tls_end(struct client_connection *connection);
/* Has libmicrohttpd know again of all that wait, so that it can end. */
void tls_let_go(struct front *front);

/* libmicrohttpd wants one, and never asks: sessions have their own. */
gnutls_certificate_retrieve_function3 tls_no_certificate;
