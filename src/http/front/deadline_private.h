/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

struct client_connection;
struct mhd_exchange;

/*
 * How long a client may take for what it has to do next, which the connection
 * and its exchanges say here.  libmicrohttpd's own time-out starts anew with
 * every byte, so that a client which sends one now and then would stay for
 * ever.  Each connection has one timer; the front's thread.
 *
 *   a head    header_timeout, from the connection's beginning (with TLS: its
 *             handshake) or from the first line of a later request
 *   a body    512 bytes for each second, looked at every idle_timeout, or
 *             every 30 s; one that is kept in memory, and has come so far
 *             after that time, comes whole within five minutes more at its
 *             mean rate
 *   an answer 512 bytes for each second, looked at every idle_timeout, as far
 *             as there is anything for it to read
 *   nothing   idle_timeout
 *
 * A client that is late is told so (408) if a request has begun and nothing
 * of an answer is out; its connection is closed in any case.
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
/* A few words for the log. */
const char *deadline_doing(const struct client_connection *connection);
/* The connection is gone. */
void deadline_end(struct client_connection *connection);
