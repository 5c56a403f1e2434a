/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

struct client_connection;
struct mhd_exchange;

/*
 * How long a client's connection may take for what it does: libmicrohttpd's
 * own time-out starts anew with every byte, so that a client which sends one
 * byte now and then would stay for ever.  One clock for each connection; the
 * front and its exchanges tell it what the client has to do next.
 *
 *   a head    header_timeout, from the connection's beginning (with TLS: its
 *             handshake) or from the first line of a later request
 *   a body    512 bytes for each second, looked at every idle_timeout
 *   an answer the same, as far as there is anything for it to read
 *   nothing   idle_timeout
 *
 * A client that is late is told so (408) where a request had begun and
 * nothing of an answer is out; the connection is closed in any case.
 */

/* A new connection. */
void deadline_init(struct client_connection *connection);
/* The first line of a request is in. */
void deadline_head(
    struct client_connection *connection, struct mhd_exchange *x);
/* The head is in, and a body comes. */
void deadline_body(struct client_connection *connection);
/* The client has nothing to do but to wait for us. */
void deadline_none(struct client_connection *connection);
/* An answer goes out. */
void deadline_answer(struct client_connection *connection);
/* The request is over; the next may come. */
void deadline_idle(struct client_connection *connection);
/* The connection is gone. */
void deadline_end(struct client_connection *connection);
