/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "base/must.h"
#include "conf/conf.h"
#include "http/upstream/connector.h"

/*
 * libcurl makes connections to upstreams (CURLOPT_CONNECT_ONLY: resolve,
 * connect, TLS and its verification) on the worker's loop.  A plain one is ours
 * alone from then on: libcurl hands its descriptor over and forgets it.  A TLS
 * one stays in libcurl's multi, behind curl_easy_send and curl_easy_recv.
 * Nothing here knows HTTP, and nothing is ever sent that the caller did not
 * give.  The worker's thread only.
 */

/*
 * A dialler has all that it takes to connect to one target of an upstream.  Its
 * handles of libcurl have every option set, and rest here from one connection
 * to the next.
 */
struct dialler {
	struct connector *connector;
	const struct conf_upstream *upstream;
	const struct conf_target *target;

	/* Its own: */
	char *url;
	CURL *handles[16]; /* at rest */
	size_t n_handles;
};

/* Upstream and target outlive it. */
void connection_dialler_init(struct dialler *dialler,
    struct connector *connector, const struct conf_upstream *upstream,
    const struct conf_target *target);
/* Frees its handles; its connections were closed before. */
void connection_dialler_end(struct dialler *dialler);

struct connection {
	struct dialler *dialler;
	bool tls;
	int64_t made_ms; /* when it was connected, by the loop's clock */
	char why[CURL_ERROR_SIZE]; /* libcurl's reason where it failed, or "" */

	/* Of whoever keeps it while it is idle (upstream/target.h): */
	struct target *keeper;
	struct list idle;
	struct timer idle_end; /* fires then, or before */
	int64_t idle_until_ms; /* by the loop's clock */

	/* Its own: */
	bool used; /* a request has been on it */
	int fd;    /* -1: not yet, or not any more */
	bool kept; /* fd is ours: libcurl must not close it */
	bool closing;
	CURL *easy;
	struct dial dial;
	struct watch *watch;
	struct task lost;
	void (*made)(void *arg, int error);
	void (*ready)(void *arg, unsigned events);
	void *arg;
};

/*
 * Begins to connect.  made is called once, never from within: with 0, or
 * with E_RESOLVE, E_UNREACHABLE, E_TLS or one of its causes (E_TLS_...), or
 * E_TIMEOUT (the upstream's connect_timeout).  The caller closes the connection
 * in any case; to close it before made is called gives up.
 */
struct connection *connection_open(
    struct dialler *dialler, void (*made)(void *arg, int error), void *arg);
/*
 * From now on ready() is called when the connection can be read (WATCH_READ,
 * also at its end or when it broke), until connection_want says otherwise.
 */
void connection_watch(struct connection *connection,
    void (*ready)(void *arg, unsigned events), void *arg);
/* Says for which of the two ready() is called from now on. */
void connection_want(struct connection *connection, bool read, bool write);

/* Besides a number of bytes, sending and receiving return: */
enum {
	IO_AGAIN = 0,
	IO_END = -1,    /* the peer has ended it; of receiving only */
	IO_FAILED = -2, /* broken: nothing more can be sent */
};

/*
 * Returns the number of bytes that were taken.  After IO_AGAIN the same bytes
 * must be given again, at the same address.  On a plain connection IO_AGAIN and
 * IO_FAILED mean that no byte of this call was taken.  On a TLS one they prove
 * nothing: a part of them may be on its way.
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
/* Closes it at once; nulls the pointer, accepts NULL. */
void connection_close(struct connection **connection);
