/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/answer.h"
#include "base/arena.h"
#include "base/loop/flow.h"
#include "base/loop/op.h"
#include "http/front/client_certificate.h"
#include "http/head/head_check.h"

/*
 * An exchange is one request of a client and its answer.  A front makes it
 * (front/front.h) and hands it to an owner, who reads it, acts on it by the
 * functions here, one at a time, and keeps it until exchange_end, also when
 * the client has long left.  An owner only reads these members; op is his to
 * init and to wait for.  It knows no routes, keys or upstreams, and judges
 * nothing: head_check() does.  The front's thread only.
 */
struct exchange {
	struct op op; /* of the function that was called last */
	struct arena *arena; /* gone with the exchange */
	struct head_as_sent head; /* in the arena */
	struct span client; /* its address without the port, or "unix" */
	bool tls;
	struct client_certificate certificate;
	bool has_body;      /* a length above 0, or chunked */
	bool body_ended;    /* all of it has come */
	size_t body_bytes;  /* so much of it has come */
	struct body body;   /* once exchange_read_body has ended */
	bool gone;          /* the client is known to have left */
	bool late;          /* the client was told 408, and cut off */
	size_t sent_bytes;  /* of the answer's body */
	int64_t began_us;   /* when the head was in */
};

/*
 * Reads the whole body into x->body.  Ends with 0, E_TOO_LARGE (more than
 * max_bytes), E_NO_MEMORY, E_MALFORMED (a chunk or a trailer: the head's
 * verdict and message say it then), or E_CLIENT_GONE.
 */
void exchange_read_body(struct exchange *x, size_t max_bytes);

/*
 * The body goes into that flow as it comes, no faster than it is taken, and
 * ends it with 0, E_MALFORMED or E_CLIENT_GONE.  Called as soon as the exchange
 * has arrived, in place of exchange_read_body.  A client that waits for a 100
 * (Continue) gets one when the flow's reader waits.
 */
void exchange_stream_body(struct exchange *x, struct flow *flow);

/*
 * Sends the answer (a reference is taken) with more fields behind its own.
 * Where there is a flow, the body comes out of that in place of the answer's:
 * length bytes, or -1 where nobody knows; one that ends with an error cuts the
 * client's connection, so that nobody takes a part for the whole.
 * A body that nobody wants is not waited for: the answer goes at once, the
 * connection is closed behind it, and what still comes is read and dropped, up
 * to 64 MiB and for 10 s, so that the client reads our answer and not a reset.
 * close: the connection is closed in any case.  Ends with 0 when the answer has
 * been sent, or with E_CLIENT_GONE.
 */
void exchange_answer(struct exchange *x, struct answer *answer,
    const struct fields *more, struct flow *flow, int64_t length, bool close);

/*
 * Sets x->gone and calls left() once when the client closes its connection
 * or its half of it, while the exchange waits for a long time; NULL: not any
 * more.  Nothing is told of a client that has left already.
 */
void exchange_watch_client(
    struct exchange *x, void (*left)(void *arg), void *arg);

/* The owner is done with it; nulls his pointer. */
void exchange_end(struct exchange **x);
