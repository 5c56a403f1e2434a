/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/answer.h"
#include "base/histogram.h"
#include "base/loop/flow.h"
#include "base/loop/op.h"
#include "conf/conf.h"

/*
 * A forward sends one request to an upstream, once.  libcurl makes the
 * connection (upstream/connection.h); the HTTP/1.1 message on it is ours, and
 * so is the proof of what was sent: a byte that the connection took or, over
 * TLS, may have taken.  Nothing here ever sends a request a second time; only
 * while no byte was taken is another connection or target tried.  It knows
 * nothing of keys, records or clients.  The worker's thread only.
 *
 * An answer that has no content by rule (to HEAD, 204, 304) and announces some
 * ends its connection.  A server may send that content all the same, and later:
 * then it would be the answer to the next request there, which may be another
 * tenant's payment.  To HEAD and in a 304 such an announcement is right (RFC
 * 9110, section 8.6) and nothing follows, but nobody can tell beforehand; the
 * price is a new connection.
 *
 * A body may be given and taken as a flow, piece by piece, for as long as it
 * lasts: the upstream is read and written only as fast as the other side of
 * the flow is.
 */
struct upstreams;

enum forward_result {
	/* No byte was taken: whatever failed, nothing was executed. */
	FORWARD_NOT_SENT,
	/* A whole, well-formed answer. */
	FORWARD_ANSWERED,
	/* Sent, then the time was up. */
	FORWARD_TIMEOUT,
	/* Sent, then the connection broke, or ended before the answer did. */
	FORWARD_BROKEN,
	/*
	 * Sent, and the answer's head came; then, until the time was up, there
	 * was no memory to read its content (E_NO_MEMORY).
	 */
	FORWARD_UNREAD,
	/* Sent, and what came back must not be passed on (RFC 9112). */
	FORWARD_MALFORMED,
};

/* The request; spans and body must live until the end of the forward. */
struct message {
	struct span method;
	struct span target;    /* origin-form, validated bytes (0x21-0x7e) */
	/* Of the client, for host: "preserve"; empty: the target's own. */
	struct span authority;
	struct fields fields;  /* end to end; no Host, no framing */
	struct span body;
	bool has_body; /* false: no Content-Length is sent */
	/*
	 * The body comes from here, in place of body: length bytes, or where
	 * that is -1 any number, and they are sent in chunks.  A flow that
	 * ends with an error closes the connection, so the upstream never
	 * takes a part for the whole.
	 */
	struct flow *source;
	int64_t length;
	/* The owner of body's bytes, cleared once all are sent; or NULL. */
	struct body *spent;
};

struct forward {
	struct op op; /* done: the result stands; error is 0, or says why */
	enum forward_result result;
	/* FORWARD_ANSWERED, and the first two of FORWARD_UNREAD: */
	int status;
	struct fields fields; /* point into head; hop-by-hop ones included */
	struct body body;     /* the decoded content */
	/*
	 * Not NULL: there is more content than max_body, or than has come
	 * (streams).  All of it comes through this flow, which ends with 0,
	 * or with an error when the answer breaks, and body is empty.  Its
	 * reader is the owner's to set, and forward_clear frees it.
	 */
	struct flow *rest;
	int64_t rest_length;   /* bytes of it in all; -1: not known */
	long long head_length; /* Content-Length of an answer that has no
				  body by rule (HEAD, 304), else -1 */
	/*
	 * Also while it is pending, and after op_cancel: the number of bytes
	 * that were sent, of which 0 is the proof that nothing was executed;
	 * and the target that was tried last, be it in vain, or NULL.  It lives
	 * as long as the configuration.
	 */
	size_t sent_bytes;
	const struct conf_target *target;
	/* The module's own: */
	struct transfer *transfer; /* while it is pending */
	char *head;
};

struct forward_limits {
	int64_t timeout_ms; /* of the whole exchange, 0: the upstream's */
	/*
	 * The answer is given as soon as its head is in, and the time-out runs
	 * while the upstream neither takes nor sends a byte although it could.
	 */
	bool streams;
	size_t max_head;    /* bytes */
	size_t max_body;    /* bytes of the decoded content in body */
	bool close_delimited; /* accept a body that ends by closing only */
	bool reuse;           /* an idle connection may be taken */
	/*
	 * By clock_us: from then on nothing of it is sent.  Where a part of it
	 * is, the connection is reset: the rest stays here.  Its owner may
	 * change it meanwhile; NULL: no end.
	 */
	const int64_t *send_until_us;
};

/*
 * Sends message to that upstream, one of those that upstreams was made of,
 * and reads its answer.  op is done when the result stands.  op.error says
 * why there is no answer: that of connection_open(), E_TIMEOUT,
 * E_CLOSED, E_MALFORMED (also a message that cannot be sent: nothing was),
 * E_NO_LENGTH (close_delimited),
 * E_LEASE_OVER and E_LEASE_CUT (send_until_us: nothing was sent, or a part),
 * E_TOO_LARGE (the answer's head), E_NO_MEMORY (streams: nothing was sent; or
 * FORWARD_UNREAD), or that of the source.
 * op_cancel(&forward->op) closes the connection at once.
 *
 * An answer for which there is no memory waits, unread, until there is some or
 * the time is up (upstream/answer_memory.h).
 */
void forward_start(struct upstreams *upstreams, struct forward *forward,
    const struct conf_upstream *upstream, const struct message *message,
    const struct forward_limits *limits);
/* The target that the request was sent to; NULL: nothing was sent. */
static inline const struct conf_target *
forward_target(const struct forward *forward)
{
	return forward->sent_bytes > 0 ? forward->target : NULL;
}
/* Gives it up, pending or with a rest to come: closes the connection. */
void forward_stop(struct forward *forward);
/*
 * Hands an answer and the rest that is to come of it over to another owner,
 * whose forward was cleared; from is as if it was.
 */
void forward_move(struct forward *to, struct forward *from);
/*
 * Frees the result, after which the forward can be started again.  It may never
 * have been started, but it must be at its end.
 */
void forward_clear(struct forward *forward);
