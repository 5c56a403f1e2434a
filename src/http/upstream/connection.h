/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/must.h"

/*
 * Connections to upstreams.  libcurl makes them (CURLOPT_CONNECT_ONLY:
 * resolve, connect, TLS and its verification) on the worker's loop.  A plain
 * one is ours alone from then on: libcurl hands its descriptor over and forgets
 * it.  A TLS one stays in libcurl's multi, behind curl_easy_send and
 * curl_easy_recv.  Nothing here knows HTTP, and nothing is ever sent that the
 * caller did not give.  The worker's thread only.
 */
struct connection;
struct dialler;

/*
 * Begins to connect.  made is called once, never from within: with 0, or
 * with E_RESOLVE, E_UNREACHABLE, E_TLS or one of its causes (E_TLS_...), or
 * E_TIMEOUT (the upstream's connect_timeout); then too the caller closes it.
 * Closing it earlier gives up.
 */
struct connection *connection_open(
    struct dialler *dialler, void (*made)(void *arg, int error), void *arg);
/* Why it failed, by libcurl, while the connection lives; "" for none. */
const char *connection_why(const struct connection *connection);
/*
 * Who is told from now on: ready() is called when it can be read (WATCH_READ,
 * also at its end or when it broke), until connection_want says otherwise.
 */
void connection_watch(struct connection *connection,
    void (*ready)(void *arg, unsigned events), void *arg);
/* When ready() is to be called. */
void connection_want(struct connection *connection, bool read, bool write);

bool connection_is_tls(const struct connection *connection);
/* When it was connected, by the loop's clock. */
int64_t connection_made_ms(const struct connection *connection);

/* What sending and receiving return besides a number of bytes. */
enum {
	IO_AGAIN = 0,
	IO_END = -1,    /* the peer has ended it; of receiving only */
	IO_FAILED = -2, /* broken: nothing more can be sent */
};

/*
 * The number of bytes that were taken.  On IO_AGAIN the same bytes are to be
 * given again, at the same address.  On a plain connection IO_AGAIN and
 * IO_FAILED mean that no byte of this call was taken.  On a TLS one they
 * prove nothing: a part of them may be on its way.
 */
MUST_USE ssize_t connection_send(
    struct connection *connection, const char *bytes, size_t len);
MUST_USE ssize_t connection_receive(
    struct connection *connection, char *buffer, size_t size);
/*
 * True of an open connection that has nothing to read, as it must be before
 * a request: what comes unasked is no answer.
 */
MUST_USE bool connection_is_silent(struct connection *connection);

/* True while bytes that were sent have not arrived at the other side. */
bool connection_has_unsent(const struct connection *connection);

/*
 * Resets it: what the kernel has taken and not sent yet is not sent any more.
 * It is still to be closed.  On a Unix socket the other side has it already.
 */
void connection_reset(struct connection *connection);
/* At once, with all that waits on it; nulls the pointer, accepts NULL. */
void connection_close(struct connection **connection);
