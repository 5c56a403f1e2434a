/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <microhttpd.h>

#include "base/loop/loop.h"
#include "conf/conf.h"
#include "http/front/acceptor.h"
#include "http/front/client_io_private.h"
#include "http/front/front.h"
#include "http/front/linger.h"
#include "http/front/log_rate.h"

/*
 * The inner side of a front.  A call goes down, an event comes up:
 *
 *   front              its daemons of libmicrohttpd, and who makes way
 *   exchange           a request and its answer: its head, its body, bodies
 *                      that flow, and answers with too large a head
 *                      (large_answer)
 *   client_connection  a client's connection, on which exchanges follow each
 *                      other, with its handshake (tls)
 *   client_io          its socket: what it sends, and its part in libmicrohttpd
 *   deadline           what the client has to do in time
 *
 * and beside them the acceptor, who lingers (linger), and selftest, a front
 * that is tried out before there is any other.  One thread.
 *
 * Circle: client_connection, client_io, deadline, exchange, front,
 * large_answer, tls.  They know each other's structs; none calls one above it.
 *
 * What libmicrohttpd taught us, 0.9.75 as well as 1.0.1:
 * - After MHD_run a timeout of 0 means "run again before you block" (front); a
 *   TLS handshake that waits is held for that (tls), and so is a connection
 *   whose answer, or its next bytes, we do not have yet (exchange): it never
 *   finds nothing to do.
 * - It is lenient, and hides where: it reads through us, and sees only requests
 *   of our own, without bodies (client_io); each start tries that (selftest).
 * - It takes no answer in the middle of a body, and closes behind one that is
 *   given in its first call: so there are none, and it is given in the second.
 * - Resumed, it reads first, and drops clients that half closed: it reads
 *   nothing while a request is being answered.
 * - It zeroes a connection's pool: small, whatever a head may have.
 * - It refuses empty values, and would chunk a 304 or a HEAD (reply).
 */
enum {
	/*
	 * A connection's pool, of which it takes a half to read into, until it
	 * has the head of an answer to write.  It zeroes all of it for each
	 * request, and half of it once more.
	 */
	FRONT_POOL_BYTES = 8 * 1024,
	/* What it has for the head of an answer at least. */
	FRONT_ANSWER_HEAD_BYTES = FRONT_POOL_BYTES - 1024,
};

struct front {
	struct loop *loop;
	const struct conf *conf;
	struct budget *budget;
	void (*arrived)(void *arg, struct exchange *x);
	void *arg;

	/*
	 * One daemon speaks plain HTTP and one TLS, each from its first
	 * connection on.
	 */
	struct engine {
		struct front *front;
		struct MHD_Daemon *daemon; /* NULL: there was none yet */
		struct watch *events; /* of its epoll descriptor */
		struct timer timeout; /* when it wants to be run */
	} engines[2];
	struct hook work;
	bool dirty; /* libmicrohttpd has something to do now */
	bool draining;
	size_t max_head; /* bytes of a request's */
	struct places *places;
	char came[CLIENT_IO_BYTES]; /* what was read last, of any */
	struct client_connection **by_fd; /* by descriptor, or NULL */
	size_t n_by_fd;
	struct list all; /* client connections, the newest first */
	size_t arriving; /* of them, those that have not begun yet */
	struct timer awaits; /* a client that drains may wait for */
	struct acceptor *acceptor;
	struct lingering lingering;
	struct log_rate certificates_refused;
	struct log_rate plain_refused; /* clients that speak no TLS */
	bool ending; /* nobody waits any more, no request is told of */
};

/*
 * Serves a connection, which has a place; the front closes its socket and gives
 * the place back, at once if it cannot.
 */
void front_take(void *front, const struct arrival *arrival);
