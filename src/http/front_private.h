/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <microhttpd.h>
#include <netinet/in.h>

#include "base/loop.h"
#include "http/acceptor.h"
#include "http/front.h"

/*
 * What front.c (the daemons), exchange.c (one request and its answer), copy.c
 * (its head), stream.c (bodies that flow), beside.c (early answers), idle.c,
 * tls.c, deadline.c, selftest.c and nobody else share: libmicrohttpd ends here.
 * One thread.
 */
enum {
	/* The head of an answer in a connection's pool. */
	ANSWER_HEAD_BYTES = 18 * 1024,
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
		size_t pool_bytes; /* of each connection */
		size_t most_kept; /* of a head that leaves an answer's room */
	} engines[2];
	struct hook work;
	bool dirty; /* libmicrohttpd has something to do now */
	bool draining;
	bool checks_gaps; /* this libmicrohttpd's buffers are as we know them */
	unsigned connections;
	struct connection *all;
	struct timer look; /* at all of them (http/idle.c) */
	struct acceptor *acceptor;
	const struct arrival *arrival;   /* on its way to libmicrohttpd */
	struct connection *shaking_hands; /* those that wait for a client */
	bool ending; /* nobody waits any more, no request is told of */
};

/* A client's connection; libmicrohttpd keeps it as its socket's context. */
struct connection {
	struct front *front;
	struct MHD_Connection *mhd;
	int fd;
	char client[INET6_ADDRSTRLEN]; /* its address, or "unix" */

	/* What the client has to do in time (http/deadline.c). */
	struct timer deadline;
	enum doing {
		DOING_NOTHING,
		DOING_HEAD,
		DOING_BODY,
		DOING_ANSWER,
	} doing;
	struct exchange *x; /* from a request's first line to its end */
	bool was_held;    /* since the last look, by us */
	uint64_t seen;    /* bytes of the body or the answer at the last look */
	uint64_t waiting; /* bytes of the answer on their way then */

	/* Memory of a silent one (http/idle.c). */
	struct connection *next_of_all;
	struct connection **link_of_all;
	char *pool; /* NULL: nobody knows */
	size_t pool_pages;
	unsigned quiet_looks;

	/* TLS (http/tls.c); conf is NULL without it. */
	const struct conf *conf; /* keeps the credentials */
	struct gnutls_session_int *session;
	bool tls_is_up; /* as far as we have asked */
	/* The handshake waits for the client; one of front->shaking_hands. */
	struct watch *handshake;
	struct connection *next;
	struct connection **link;
};

/* The connection of an exchange that libmicrohttpd still knows. */
struct connection *connection_of(struct MHD_Connection *mhd);

/* Serves a connection. */
void front_take(struct front *front, const struct arrival *arrival);

/*
 * libmicrohttpd leaves the connection alone until it is resumed.  The one
 * place that suspends.
 */
void exchange_hold(struct exchange *x);
void exchange_resume(struct exchange *x);

/* --- copy.c --- */

/* Copies the head, which libmicrohttpd forgets when the client leaves. */
void head_copy(struct exchange *x, const char *method, const char *version);
/* Has libmicrohttpd find no query; target is where it reads. */
void head_hide_query(const char *target);
/* Has it find no expectation in a request that needs no 100 (Continue). */
void head_hide_expectation(struct exchange *x);

/* The answer is out: the owner is told. */
void exchange_answered(struct exchange *x);

/* --- stream.c --- */

/* Takes bytes of the body, for the flow that wants them. */
enum MHD_Result stream_data(struct exchange *x, const char *data, size_t *len);
/* There is no more of the body: 0, it was whole, or E_CLIENT_GONE. */
void stream_end(struct exchange *x, int error);
/* The answer's content comes out of that flow. */
void stream_from(struct exchange *x, struct flow *flow);
/* libmicrohttpd asks for content of the answer; as MHD says it. */
ssize_t stream_read(void *exchange, uint64_t at, char *buffer, size_t size);
/* What went out is not the whole answer; before the connection is ended. */
void stream_cut(struct exchange *x);
/* Both flows are the owner's alone from now on. */
void stream_detach(struct exchange *x);

/* --- beside.c --- */

/* An answer now would come in the middle of the body. */
bool beside_is_due(const struct exchange *x);
/* Sends the answer, or from x->down so many bytes or -1, all the same. */
void beside_new(struct exchange *x, const struct answer *answer,
    const struct fields *more, int64_t length);
/* libmicrohttpd's call about more of the body, or its end. */
enum MHD_Result beside_on_request(
    struct exchange *x, const char *data, size_t *len);
/* There is more in x->down, or its end. */
void beside_pump(struct exchange *x);
bool beside_is_sent(const struct exchange *x);
/* The owner leaves: what is not out by now is cut. */
void beside_leave(struct exchange *x);
void beside_free(struct exchange *x);

/* libmicrohttpd's calls about one request. */
void *exchange_on_target(
    void *front, const char *target, struct MHD_Connection *mhd);
enum MHD_Result exchange_on_request(void *front, struct MHD_Connection *mhd,
    const char *url, const char *method, const char *version,
    const char *data, size_t *len, void **context);
void exchange_on_completed(void *front, struct MHD_Connection *mhd,
    void **context, enum MHD_RequestTerminationCode code);
