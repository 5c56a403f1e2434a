/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

struct client_connection;
struct front;

/*
 * libmicrohttpd has zeroed the whole pool of a connection when it waits for
 * the next request, and keeps all of it.  Of one on which nothing has happened
 * for a few seconds, idle or with a request that waits for its upstream, those
 * pages are given back to the system that hold nothing but zeros: private
 * memory that was given back reads as zeros, so libmicrohttpd cannot tell.
 * Where the pool lies is learned from the first request, with the version of
 * libmicrohttpd whose memory is known (http/head_framing.h).  The front's
 * thread.
 */

/* A connection begins or ends. */
void idle_begin(struct client_connection *c);
void idle_end(struct client_connection *c);
/* A request begins or ends on it. */
void idle_not(struct client_connection *c);
/* method: as libmicrohttpd hands it over, where the request's line stands. */
void idle_learn(struct client_connection *c, const char *method);
/* Looks at all connections from time to time, or does so no more. */
void idle_watch(struct front *front);
void idle_unwatch(struct front *front);
