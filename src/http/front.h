/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/answer.h"
#include "base/arena.h"
#include "base/flow.h"
#include "base/op.h"
#include "conf/conf.h"
#include "http/head_framing.h"

struct MHD_Connection;

/*
 * The front: libmicrohttpd in external epoll mode behind four verbs (read a
 * body, answer, end, and the listening that brings requests).  Nothing above
 * it ever sees libmicrohttpd.  It knows no routes, keys or upstreams, and
 * judges nothing: what it hands over is checked by its owner
 * (http/head_check.h). One front per worker; that worker's thread only.
 *
 * An exchange is one request and its answer.  The front makes it; the owner
 * keeps it until front_end, also when the client has long left, and waits
 * for one verb at a time with the operation in it.
 */
struct front;

struct exchange {
	struct op op; /* of the verb that was called last; the owner inits it */
	struct arena *arena; /* gone with the exchange */
	/* The head as it came, values with their blanks; in the arena. */
	struct span method;
	struct span target;
	struct span version; /* "HTTP/1.1" */
	struct fields fields;
	struct span client;  /* its address without the port, "unix" */
	bool tls;
	bool has_body;       /* a length above 0, or chunked */
	bool expects_continue;
	int64_t content_length; /* -1: none was said, or not a number */
	size_t head_bytes;      /* of names and values and the target */
	struct body body;       /* once front_read_body has ended */
	size_t body_bytes;      /* of the body, as far as it came */
	bool gone;              /* the client is known to have left */
	bool ambiguous;         /* the head may be read in another way */
	bool crowded;           /* the head leaves no room for an answer's */
	bool late;              /* the client was told 408, and cut */
	size_t sent_bytes;      /* of the answer's body */
	int64_t began_us;       /* when the head was in */

	/* the front's own */
	struct front *front;
	struct MHD_Connection *mhd; /* NULL: libmicrohttpd is done with it */
	struct gaps gaps;
	enum exchange_doing {
		EXCHANGE_IDLE,
		EXCHANGE_READING,
		EXCHANGE_ANSWERING,
	} doing; /* what op waits for */
	size_t read_limit;
	size_t swallowed;
	struct flow *up;     /* where the body goes; NULL: not any more */
	struct flow *down;   /* where the answer's content comes from */
	struct beside *beside; /* an answer in the middle of the body */
	struct task pace;    /* looks whether up has room for more */
	bool in_head;        /* held before a 100 (Continue) was sent */
	bool half_closed;    /* the client sends no more */
	bool left_over;      /* up did not take all it was offered */
	bool end_is_close;   /* of the answer's content, by HTTP/1.0 */
	struct reply *reply; /* to be sent when the body is in */
	unsigned reply_status;
	bool head_seen;
	bool body_ended;
	bool suspended;
	bool queued;
	bool at_once;
	struct watch *client_watch;
	void (*client_left)(void *arg);
	void *client_left_arg;
	bool ended;
};

/*
 * arrived() is called once for each request, when its head is in and before
 * anything of its body is read.  It may call the verbs.
 */
struct front *front_new(struct loop *loop, const struct conf *conf,
    struct budget *budget, void (*arrived)(void *arg, struct exchange *x),
    void *arg);
/*
 * All exchanges must have ended; closes all connections, and arrived() is not
 * called any more.
 */
void front_free(struct front **front);

/* Has those clients counted who come beyond limits.connections. */
struct counter;
void front_count(struct front *front, struct counter *turned_away);
/*
 * Accepts on a listening socket from now on, and closes it in the end.
 * entry: its place in the configuration's listen; FRONT_PLAIN: it has none.
 */
void front_listen(struct front *front, int fd, size_t entry);
#define FRONT_PLAIN SIZE_MAX
/*
 * Time-outs and limits of requests, and certificates of new connections, are
 * those of that configuration.
 */
void front_reload(struct front *front, const struct conf *conf);
/* Closes the listening sockets; every answer says Connection: close. */
void front_drain(struct front *front);
/*
 * How many connections all fronts together take: limits.connections, or half
 * of the descriptors that the process may open where that is less, because a
 * client may need one to the upstream besides its own.
 */
int64_t front_max_connections(const struct conf *conf);

/*
 * Reads the whole body into x->body.  Ends with 0, E_TOO_LARGE (more than
 * max_bytes), E_NO_MEMORY, or E_CLIENT_GONE.
 */
void front_read_body(struct exchange *x, size_t max_bytes);

/*
 * The body goes into that flow as it comes, no faster than it is taken, and
 * ends it with 0 or E_CLIENT_GONE.  Called by arrived(), in place of
 * front_read_body.  A client that waits for a 100 (Continue) gets one when
 * the flow's reader waits.
 */
void front_stream_body(struct exchange *x, struct flow *flow);

/*
 * Sends the answer (a reference is taken) with more fields behind its own.
 * A body that was not read is swallowed first, up to 16 MiB; beyond that the
 * connection is closed behind the answer.  close: it is closed in any case,
 * and nothing is swallowed.  Ends with 0 when libmicrohttpd has sent it, or
 * E_CLIENT_GONE.
 */
void front_answer(struct exchange *x, struct answer *answer,
    const struct fields *more, bool close);

/*
 * The same with a body that comes out of that flow: length bytes, or -1.  Its
 * end with an error cuts the client's connection, so that nobody takes a part
 * for the whole.
 */
void front_answer_flow(struct exchange *x, struct answer *answer,
    const struct fields *more, struct flow *flow, int64_t length, bool close);

/*
 * Calls left() once when the client closes its connection or its half of it,
 * while the exchange waits for a long time; NULL: not any more.  Nothing is
 * told of a client that is gone already.
 */
void front_watch_client(
    struct exchange *x, void (*left)(void *arg), void *arg);

/* The owner is done with it; nulls its pointer. */
void front_end(struct exchange **x);
