/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <microhttpd.h>

#include "base/loop.h"
#include "http/accept.h"
#include "http/front.h"

/*
 * What front.c (the daemon), exchange.c (one request and its answer) and
 * nobody else share: libmicrohttpd ends here.  One thread.
 */
struct front {
	struct loop *loop;
	const struct conf *conf;
	struct budget *budget;
	void (*arrived)(void *arg, struct exchange *x);
	void *arg;

	struct MHD_Daemon *daemon;
	struct watch *events; /* of libmicrohttpd's epoll descriptor */
	struct hook work;
	struct timer timeout; /* when libmicrohttpd wants to be run */
	bool dirty;           /* it has something to do now */
	bool draining;
	bool checks_gaps; /* this libmicrohttpd's buffers are as we know them */
	unsigned connections;
	struct acceptor *acceptor;
};

/* A client's connection; libmicrohttpd keeps it as its socket's context. */
struct connection {
	struct front *front;
	int fd;
	struct timer deadline; /* of a head, and of idleness */
};

/* The connection of an exchange that libmicrohttpd still knows. */
struct connection *connection_of(struct MHD_Connection *mhd);

/* libmicrohttpd's calls about one request. */
void *exchange_on_target(
    void *front, const char *target, struct MHD_Connection *mhd);
enum MHD_Result exchange_on_request(void *front, struct MHD_Connection *mhd,
    const char *url, const char *method, const char *version,
    const char *data, size_t *len, void **context);
void exchange_on_completed(void *front, struct MHD_Connection *mhd,
    void **context, enum MHD_RequestTerminationCode code);
