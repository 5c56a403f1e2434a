/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "http/front/client_connection_private.h"

/*
 * How long a client may take for what it has to do next, which the connection
 * and its exchanges say here.  libmicrohttpd's own time-out starts anew with
 * every byte, so that a client which sends one now and then would stay for
 * ever.  Each connection has one timer; the front's thread.
 *
 *   a head    header_timeout, from the connection's beginning (with TLS: its
 *             handshake) or from the first bytes of a later request
 *   a body    512 bytes for each second, looked at every idle_timeout, or
 *             every 30 s; one that is kept in memory, and has come so far
 *             after that time, comes whole within five minutes more at its
 *             mean rate
 *   an answer 512 bytes for each second, looked at every idle_timeout, as far
 *             as there is anything for it to read
 *   nothing   idle_timeout
 *
 */

/* A new connection; late() is called when the client is. */
void deadline_init(struct client_connection *connection,
    void (*late)(struct client_connection *c));
/* What the client has to do from now on. */
void deadline_begin(struct client_connection *connection, enum doing doing);
