/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"
#include "messages/broker/postgres/postgres_pipe.h"

/*
 * A connection to a PostgreSQL server that is made again whenever it is gone,
 * without ever blocking: names are looked up on another thread, each host of
 * the URI is tried by itself and with a deadline (libpq would wait for ever on
 * one that hangs), and after a round without success there is a pause that
 * grows to 5 s.  It knows nothing of tables.  The loop's own thread.
 */
struct postgres_connect;

struct postgres_connect_events {
	/* A connection stands, and is to be set up. */
	void (*made)(void *arg);
	/* A channel that was listened to has something. */
	void (*notified)(void *arg);
	/*
	 * The connection is gone, and all its batches have ended; or no host
	 * could be reached.  refused: the server answers, and not as it must.
	 * why is valid during the call.
	 */
	void (*down)(void *arg, const char *why, bool refused);
	void *arg;
};

/*
 * Begins to try, from the loop; broker outlives it, and instance is a part of
 * application_name.
 */
struct postgres_connect *postgres_connect_new(struct loop *loop,
    const struct conf_broker *broker, const char *instance,
    const struct postgres_connect_events *events);
/*
 * At once; batches end as lost within this, and down is not called.  Nulls the
 * pointer, accepts NULL.
 */
void postgres_connect_free(struct postgres_connect **connect);

/* NULL: there is no connection. */
struct postgres_pipe *postgres_connect_pipe(
    const struct postgres_connect *connect);
/* The connection is set up. */
void postgres_connect_ready(struct postgres_connect *connect);
bool postgres_connect_is_ready(const struct postgres_connect *connect);
/*
 * The server answers, and not as it must: the connection, if there is one, is
 * ended and made again, with the host behind this one first.
 */
void postgres_connect_refuse(
    struct postgres_connect *connect, const char *why);
