/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <microhttpd.h>

#include "base/loop/loop.h"
#include "conf/conf.h"
#include "http/front/acceptor.h"
#include "http/front/front.h"

/*
 * The inner side of a front.  libmicrohttpd ends in these files of one
 * machine, which know each other, and it calls them:
 *
 *   front              its daemons
 *   spin               who keeps its loop busy with nothing
 *   client_connection  a client's connection, on which exchanges follow each
 *                      other, with its deadline, what is read of it
 *                      (client_recv), heads that wait for their exchange
 *                      (head_queue) and tls
 *   exchange           a request and its answer: its head (head_copy), bodies
 *                      that flow (exchange_stream), and answers that come too
 *                      early for libmicrohttpd (early_response)
 *   selftest           a front that is tried out before there is any other
 *
 * Circle: client_connection, client_recv, deadline, early_response, exchange,
 * exchange_stream, front, head_copy, head_queue, spin, tls.  They are one
 * machine in several files: libmicrohttpd calls the front back about
 * connections and exchanges, and each of these holds the others back or lets
 * them go on.  One thread.
 */
/*
 * What libmicrohttpd taught us, 0.9.75 as well as 1.0.1:
 * - After MHD_run a timeout of 0 means "run again before you block" (front); a
 *   TLS handshake that waits is suspended for that (tls).
 * - It is lenient, and hides where: it reads through us (client_recv), and sees
 *   only heads of our own, where the client's are strictly right (wire,
 *   head_queue); each start tries that (selftest).
 * - It zeroes a connection's pool: small, whatever a head may have
 *   (head_queue).
 * - It refuses empty values, and would chunk a 304 or a HEAD (reply); takes no
 *   answer in the middle of a body, so that is written beside it
 *   (early_response).
 * - Resumed, it reads first and drops clients that half closed
 *   (exchange_stream).
 * - A connection may ask to be run for ever, deaf to its own end (spin).
 */
enum {
	/*
	 * A connection's pool: a half of it is what libmicrohttpd reads into,
	 * the rest for what it notes of fields, and for the head of an answer.
	 * It zeroes all of it for each request, and half of it once more.  What
	 * a body loses by small reads it gets back by more of them in a turn.
	 */
	FRONT_POOL_BYTES = 10 * 1024,
	FRONT_RUNS_AT_ONCE = 4,
	/*
	 * What it has for the head of an answer at least, where the next
	 * request is there already, beside its notes of five fields.  Without
	 * that it would close the connection, and send none.
	 */
	FRONT_ANSWER_HEAD_BYTES = FRONT_POOL_BYTES / 2 - 512,
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
	bool filled; /* a read of this run filled all its room */
	bool draining;
	size_t max_head; /* bytes of a request's */
	struct places *places;
	char came[FRONT_POOL_BYTES]; /* what was read last, of any */
	struct queued_head *spare_head; /* for the next; or NULL */
	struct client_connection **by_fd; /* by descriptor, or NULL */
	size_t n_by_fd;
	struct client_connection *all;
	size_t arriving; /* of them, those that have not begun yet */
	struct timer awaits; /* a client that drains may wait for */
	struct acceptor *acceptor;
	struct spin { /* (front/spin_private.h) */
		struct counter *found; /* or NULL */
		uint64_t moves;        /* of all connections, so far */
		uint64_t moves_seen;
		unsigned fruitless; /* runs that brought nothing, net */
		int64_t since_ms;   /* when the first of them was */
		int64_t rest_until_ms;
		enum {
			SPIN_NO_SEARCH,
			SPIN_ALL_HELD, /* then at is accused, or NULL */
			SPIN_ONE_RUNS,
		} step;
		unsigned searches;
		unsigned runs; /* of the step */
		struct client_connection *at;
		struct client_connection *next; /* to be tried */
	} spin;
	/* Those whose handshake waits for the client. */
	struct client_connection *shaking_hands;
	int64_t certificates_refused; /* that the log has not heard of */
	int64_t certificates_told_us; /* when it last has; 0: never */
	int64_t plain_refused;        /* the same, of those without TLS */
	int64_t plain_told_us;
	bool ending; /* nobody waits any more, no request is told of */
};

/*
 * Serves a connection, which has a place; the front closes its socket and gives
 * the place back, at once if it cannot.
 */
void front_take(struct front *front, const struct arrival *arrival);
