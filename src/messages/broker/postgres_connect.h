/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <libpq-fe.h>

#include "base/loop/loop.h"
#include "conf/conf.h"

/*
 * Makes connections to a PostgreSQL server without ever blocking: names are
 * looked up on another thread, each host of the URI is tried by itself and with
 * a deadline (libpq would wait for ever on one that hangs), and after a round
 * without success there is a pause that grows.  It knows nothing of tables.
 * The loop's own thread.
 */
struct postgres_connect;

struct postgres_connect_events {
	/* A connection stands; it is the owner's, who ends it (PQfinish). */
	void (*made)(void *arg, PGconn *conn);
	/* A round of all hosts failed, with why; valid during the call. */
	void (*failed)(void *arg, const char *why);
	void *arg;
};

/*
 * Nothing is tried before postgres_connect_begin.  broker outlives it; instance
 * is a part of application_name.
 */
struct postgres_connect *postgres_connect_new(struct loop *loop,
    const struct conf_broker *broker, const char *instance,
    const struct postgres_connect_events *events);
/* Nulls the pointer, accepts NULL. */
void postgres_connect_free(struct postgres_connect **connect);

/*
 * Tries until made() is called, with the host behind the last one first, which
 * may hang: at once where the last connection was good, else after a pause.
 */
void postgres_connect_begin(struct postgres_connect *connect, bool was_good);

/* The server's or libpq's words on one line, cut to size - 1 bytes. */
void postgres_connect_words(const char *from, char *ret_words, size_t size);
