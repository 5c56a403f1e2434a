/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

struct client_connection;
struct front;

/*
 * A bug, libmicrohttpd's or ours, may make a connection ask to be run again at
 * once, for ever, although nothing comes of it.  It spins, and whoever knows
 * how to bring that about can keep a worker busy with a few bytes.  So runs
 * that bring nothing are counted.  After too many of them, all connections are
 * held, and then let go one by one.  A connection is cut off if there is no
 * rest while it runs, and rest again as soon as it is held.  It knows nothing
 * of what requests are about.  The front's thread.
 */

/* Bytes came or went on it, or it or one of its requests began or ended. */
void spin_moved(struct client_connection *connection);
/* libmicrohttpd was run; front->dirty says whether it is to be run at once. */
void spin_ran(struct front *front);
/* The connection is about to be forgotten. */
void spin_forget(struct client_connection *connection);
/* No connection is held any more. */
void spin_let_go(struct front *front);
