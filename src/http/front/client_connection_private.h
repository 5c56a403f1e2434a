/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <microhttpd.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/loop/loop.h"
#include "http/head/wire.h"

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
	struct list link; /* in the front's */
	int64_t began_ms; /* by the loop's clock */
	bool held;    /* libmicrohttpd leaves it alone */
	bool over;    /* it was given up: libmicrohttpd hears of its end */
	bool left;    /* its place is another's already */
	bool lingers; /* behind its end, what still comes is read */
	char client[INET6_ADDRSTRLEN]; /* its address, or "unix" */

	/* What it sends (front/client_io_private.h). */
	struct wire wire;
	bool asks; /* a head has come; it is read on when that is answered */
	struct arena *arena; /* of the request whose head comes; NULL: none */
	char *head;          /* as far as it has come, in there */
	size_t head_len, head_room;
	char *unread;        /* what was read behind that; or NULL */
	size_t unread_at, unread_len;
	char unread_little[512]; /* where it is, if it is so little */
	bool more;          /* the socket had as much as was asked for */
	struct task look;   /* lets libmicrohttpd see that there is some */
	struct watch *watch;
	void (*ready)(struct client_connection *c, unsigned events);

	/* What the client has to do in time (front/deadline_private.h). */
	struct timer deadline; /* fires at due_ms or before */
	void (*late)(struct client_connection *c);
	int64_t due_ms; /* by the loop's clock; INT64_MAX: never */
	enum doing {
		DOING_NOTHING, /* but to wait for us */
		DOING_IDLE,
		DOING_HEAD,
		DOING_BODY,
		DOING_ANSWER,
	} doing;
	int64_t since_ms; /* when it began with that, by the loop's clock */
	struct mhd_exchange *x; /* from a head to the answer's end */
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
};

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
/* One that was cut gives its place back before its end. */
void client_connection_leave(struct client_connection *connection);
/* libmicrohttpd's call when one begins or ends. */
void client_connection_on_change(void *front, struct MHD_Connection *mhd,
    void **context, enum MHD_ConnectionNotificationCode code);
