/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

struct client_connection;
struct front;

/*
 * The memory of connections on which nothing happens.  libmicrohttpd gives
 * each a pool, zeroes it for the next request, and keeps all of it.  When
 * nothing has happened for a few seconds, because the client or the upstream
 * takes its time, the pages that hold only zeros are given back to the system:
 * private memory that was given back reads as zeros, so libmicrohttpd cannot
 * tell.  Where the pool lies is learned from the first request, and only with
 * the version of libmicrohttpd whose memory is known.  When more than half of
 * many connections have gone, what they leave behind in malloc() goes as well.
 * The front's thread.
 */

/* A connection begins or ends. */
void idle_memory_begin(struct client_connection *c);
void idle_memory_end(struct client_connection *c);
/* A request begins or ends on it. */
void idle_memory_not(struct client_connection *c);
/* method: as libmicrohttpd hands it over, where the request's line stands. */
void idle_memory_learn(struct client_connection *c, const char *method);
/* Looks at all connections from time to time, until idle_memory_unwatch. */
void idle_memory_watch(struct front *front);
void idle_memory_unwatch(struct front *front);
