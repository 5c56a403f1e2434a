/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "http/upstream/connection.h"
#include "http/upstream/connector.h"

struct pool;

/*
 * What a connection is made of, for connection.c, and for the pool in whose
 * list it stands while it is idle.  The worker's thread only.
 */
struct connection {
	struct dialler *dialler;
	int64_t made_ms;
	bool tls;
	bool used; /* a request has been on it */
	int fd;    /* -1: not yet, or not any more */
	bool kept; /* fd is ours: libcurl must not close it */
	bool closing;
	CURL *easy;
	char why[CURL_ERROR_SIZE]; /* it could not be made, by libcurl */
	struct dial dial;
	struct watch *watch;
	struct task lost;
	void (*made)(void *arg, int error);
	void (*ready)(void *arg, unsigned events);
	void *arg;

	/* The pool's, while it is idle: */
	struct pool *pool;
	struct connection *newer;
	struct connection *older;
	struct timer idle;
};
