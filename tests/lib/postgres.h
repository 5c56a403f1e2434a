/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <libpq-fe.h>
#include <sys/types.h>

#include "lib/folder.h"

/*
 * A real PostgreSQL server for tests, in a folder of its own, on a Unix socket
 * there and on a port of 127.0.0.1.  It has one superuser, "once", without a
 * password, and does not sync.  It ends with the test program, however that
 * ends.  A failure here ends the test program.
 */
struct postgres {
	char folder[FOLDER_MAX];
	int port; /* also in the socket's name */
	pid_t pid;
	PGconn *client; /* a connection for the test itself */
};

/* Makes one, starts it and waits until it answers. */
struct postgres *postgres_start(void);
/* Ends it, removes its folder, nulls the pointer; accepts NULL. */
void postgres_stop(struct postgres **postgres);

/* The server with all its sessions stands still, and goes on. */
void postgres_freeze(struct postgres *postgres);
void postgres_thaw(struct postgres *postgres);

/* "postgresql://USER@/postgres?host=FOLDER&port=PORT"; the caller frees it. */
char *postgres_uri(const struct postgres *postgres, const char *user);
/* Another connection; the caller ends it. */
PGconn *postgres_connection(const struct postgres *postgres);
/* Runs commands on a connection (NULL: the test's own). */
void postgres_just(struct postgres *postgres, PGconn *on, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The first value, as text; the caller frees it. */
char *postgres_text(struct postgres *postgres, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
long long postgres_number(struct postgres *postgres, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
