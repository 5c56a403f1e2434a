/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <microhttpd.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/loop/loop.h"
#include "base/loop/task.h"
#include "http/front/head_queue_private.h"

struct arrival;
struct conf;
struct conf_tls;
struct front;
struct gnutls_session_int;
struct mhd_exchange;

/*
 * A client's connection, on which its requests follow each other.
 * libmicrohttpd, which owns the socket, says when it begins and ends, and
 * keeps this as the socket's context.  It knows nothing of what the requests
 * are about.  The front's thread.
 */
struct client_connection {
	struct front *front;
	struct MHD_Connection *mhd; /* NULL: it has not begun with it yet */
	int fd;
	struct client_connection *next_of_all; /* of the front's */
	struct client_connection **link_of_all;
	int64_t began_ms; /* by the loop's clock */
	bool asked;       /* a request has begun on it, now or before */
	unsigned held;    /* by whom: enum holder */
	bool moved;       /* since spin looked (front/spin_private.h) */
	bool spins;       /* it was found to */
	char client[INET6_ADDRSTRLEN]; /* its address, or "unix" */

	/* What it sends (front/client_recv_private.h). */
	struct wire wire;
	struct queued_head *heads; /* (front/head_queue_private.h) */
	bool line_is_shown; /* of the head that is coming */
	char end_text[HEAD_QUEUE_END_MAX]; /* of one that was wrong */
	char *spilled; /* what libmicrohttpd has had no room for */
	size_t spilled_len;
	bool spoiled; /* the wire found something wrong; the rest is dropped */
	struct span end; /* of what was wrong, for libmicrohttpd */
	uint64_t requests; /* that libmicrohttpd has begun with */
	bool over;    /* it was given up: libmicrohttpd hears of its end */
	bool left;    /* its place is another's already */
	struct task on_spoiled;

	/* What the client has to do in time (front/deadline_private.h). */
	struct timer deadline; /* fires at due_ms or before */
	int64_t due_ms; /* by the loop's clock; INT64_MAX: never */
	enum doing {
		DOING_NOTHING,
		DOING_HEAD,
		DOING_BODY,
		DOING_ANSWER,
	} doing;
	int64_t since_ms; /* when it began with that, by the loop's clock */
	struct mhd_exchange *x; /* from a request's first line to its end */
	bool was_held;    /* since the last look, by us */
	uint64_t seen;    /* bytes of the body or the answer at the last look */
	uint64_t waiting; /* bytes of the answer on their way then */

	/* TLS (front/tls_private.h); conf is NULL without it. */
	const struct conf *conf; /* keeps tls */
	const struct conf_tls *tls;
	struct gnutls_session_int *session;
	bool greeted;   /* its first bytes were looked at */
	bool tls_is_up; /* as far as we have asked */
	bool demands; /* a certificate of the client, verified */
	/* Of a client with a certificate; NULL: nobody has asked yet. */
	char *fingerprint;
	char *subject;
	/* The handshake waits for the client; one of front->shaking_hands. */
	struct watch *handshake;
	struct client_connection *next;
	struct client_connection **link;
};

/* That of an exchange which libmicrohttpd still knows. */
struct client_connection *client_connection_of(struct MHD_Connection *mhd);

/*
 * libmicrohttpd leaves it alone while anybody holds it.  Held, it runs nothing
 * of it, and sees none of its events; let go, it reads first.
 */
enum holder {
	HELD_BY_EXCHANGE = 1,
	HELD_BY_TLS = 2,
	HELD_BY_SPIN = 4,
	/* libmicrohttpd has been given it, and has not begun with it. */
	HELD_BY_NOBODY_YET = 8,
};
void client_connection_hold(
    struct client_connection *connection, enum holder holder);
void client_connection_release(
    struct client_connection *connection, enum holder holder);
/* A request begins on it. */
void client_connection_asks(struct client_connection *connection);

/*
 * Gives it up.  A shutdown is all that ends a connection of libmicrohttpd's
 * from outside of it; libmicrohttpd then sees the client leave.
 */
void client_connection_cut(struct client_connection *connection);

/* It has sent what this turn of the loop has not come to yet. */
bool client_connection_has_more(const struct client_connection *connection);

/* One that was cut gives its place back before its end. */
void client_connection_leave(struct client_connection *connection);
/* What was wrong is of the request with which libmicrohttpd has begun. */
bool client_connection_is_spoiled(const struct client_connection *connection);

/*
 * One that libmicrohttpd is about to be given.  Some versions begin with it
 * within that call, others when they run.
 */
void client_connection_new(struct front *front, const struct arrival *arrival);
/* The connection of that descriptor is over, if libmicrohttpd has not said. */
void client_connection_drop(struct front *front, int fd);
/*
 * libmicrohttpd has run, so that it has closed what it was given and has not
 * begun with, and did not say so: there was no room or memory for it.
 */
void client_connection_drop_unbegun(struct front *front, bool tls);
/* libmicrohttpd's call when one begins or ends. */
void client_connection_on_change(void *front, struct MHD_Connection *mhd,
    void **context, enum MHD_ConnectionNotificationCode code);
