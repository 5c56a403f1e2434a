/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "base/test_build.h"
#include "upstream/transfer.h"

enum {
	/* Reads in a row before others have their turn. */
	READS_MAX = 16,
	/* Of a body whose length is known: room that is made at once. */
	RESERVE_BYTES = 65536,
	/* Connections end some time, so that changes of DNS are followed. */
	CONNECTION_LIFE_MS = 300000,
};

static bool send_more(struct transfer *t);
static bool receive(struct transfer *t);
static bool take_bytes(struct transfer *t, struct span bytes);
static bool take_end(struct transfer *t, ssize_t how);

/* --- sending --- */

static void
on_ready(void *arg, unsigned events)
{
	struct transfer *t = arg;
	bool unsent = t->forward->sent_bytes == 0;
	/* What comes before the first byte was taken is no answer. */
	if (unsent && (events & WATCH_READ)) {
		transfer_retry(t, E_CLOSED);
		return;
	}
	if ((events & WATCH_READ) && !receive(t))
		return;
	if (!(events & WATCH_WRITE))
		return;
	if (!send_more(t))
		transfer_retry(t, E_CLOSED);
	else if (t->send_failed)
		receive(t);
}

bool
exchange_begin(struct transfer *t)
{
	t->taken_bytes = 0;
	t->send_failed = false;
	t->head_read = false;
	head_begin(&t->head, t->limits.max_head);
	connection_watch(t->connection, on_ready, t);
	if (!send_more(t))
		return false;
	if (t->send_failed)
		receive(t);
	return true;
}

void
exchange_continue(struct transfer *t)
{
	receive(t);
}

/* What is to be sent next, in one piece of stable memory. */
static struct span
next_piece(const struct transfer *t)
{
	struct span request = body_span(&t->request);
	if (t->taken_bytes < request.len)
		return span_from(request, t->taken_bytes);
	return span_from(t->message.body,
	    t->taken_bytes - request.len + t->front_bytes);
}

/*
 * Sends what the connection takes.  False where it failed and has certainly
 * taken nothing; where it failed later, send_failed is set: an answer may
 * have come all the same.
 */
static bool
send_more(struct transfer *t)
{
	struct connection *c = t->connection;
	struct forward *forward = t->forward;
	while (t->taken_bytes < t->total_bytes) {
		struct span piece = next_piece(t);
		/*
		 * TLS may have put records on the wire when it says "again",
		 * and a part of one when it fails: trying it is sending it.
		 */
		if (c->tls && forward->sent_bytes == 0)
			forward->sent_bytes = 1;
		ssize_t n = connection_send(c, piece.ptr, piece.len);
		if (n == IO_AGAIN)
			break;
		if (n < 0) {
			t->send_failed = true;
			return forward->sent_bytes > 0;
		}
		t->taken_bytes += (size_t)n;
		forward->sent_bytes = t->taken_bytes;
	}
	connection_want_write(c, t->taken_bytes < t->total_bytes);
	return true;
}

/*
 * Reads all that has come, also when it seems to be no more: a watch tells
 * of a reset once only.  False when that was the end of the transfer.
 */
static bool
receive(struct transfer *t)
{
	char *buffer = t->upstreams->buffer;
	for (unsigned i = 0; i < READS_MAX; i++) {
		ssize_t n =
		    connection_receive(t->connection, buffer, READ_BYTES);
		if (n == IO_AGAIN && !t->send_failed)
			return true;
		if (n <= 0)
			return take_end(t, n);
		if (!take_bytes(t, span_of(buffer, (size_t)n)))
			return false;
	}
	task_ready(t->upstreams->loop, &t->again);
	return true;
}

/* --- the answer; these return false when the transfer has ended --- */

static bool take_head(struct transfer *t, struct span *bytes);
static void keep_content(struct transfer *t, struct span content);
static void complete(struct transfer *t, bool surplus);

static bool
take_bytes(struct transfer *t, struct span bytes)
{
	if (!t->head_read && !take_head(t, &bytes))
		return false;
	if (!t->head_read)
		return true;
	for (;;) {
		struct span content;
		enum framing_state state =
		    framing_feed(&t->framing, &bytes, &content);
		keep_content(t, content);
		if (state == FRAMING_MALFORMED) {
			transfer_finish(t, FORWARD_MALFORMED, E_MALFORMED);
			return false;
		}
		if (state == FRAMING_END) {
			complete(t, bytes.len > 0);
			return false;
		}
		if (bytes.len == 0)
			return true;
	}
}

static bool
take_head(struct transfer *t, struct span *bytes)
{
	struct forward *forward = t->forward;
	switch (head_feed(&t->head, bytes)) {
	case HEAD_MORE:
		return true;
	case HEAD_WHOLE:
		break;
	case HEAD_MALFORMED:
		transfer_finish(t, FORWARD_MALFORMED, E_MALFORMED);
		return false;
	case HEAD_TOO_LARGE:
		transfer_finish(t, FORWARD_MALFORMED, E_TOO_LARGE);
		return false;
	}
	bool to_head = span_eq(t->message.method, SPAN("HEAD"));
	t->head_read = true;
	framing_begin(&t->framing, &t->head, to_head);
	if (to_head || t->head.status == 304)
		forward->head_length = t->head.content_length;
	if (t->framing.kind == FRAMING_CLOSE && !t->limits.close_delimited &&
	    GUARD(end_is_told)) {
		/* Nobody could tell the whole answer from a part of it. */
		transfer_finish(t, FORWARD_MALFORMED, E_MALFORMED);
		return false;
	}
	if (t->framing.kind == FRAMING_LENGTH) {
		uint64_t length = t->framing.left;
		forward->body_dropped = length > t->limits.max_body ||
		    body_reserve(&forward->body,
			length < RESERVE_BYTES ? length : RESERVE_BYTES) != 0;
	}
	return true;
}

static void
keep_content(struct transfer *t, struct span content)
{
	struct forward *forward = t->forward;
	struct body *body = &forward->body;
	if (forward->body_dropped || content.len == 0)
		return;
	if (content.len > t->limits.max_body - body->len ||
	    body_append(body, content.ptr, content.len) != 0) {
		body_clear(body);
		forward->body_dropped = true;
	}
}

/* The connection has ended or broken; send_failed: how may be IO_AGAIN. */
static bool
take_end(struct transfer *t, ssize_t how)
{
	/*
	 * A failed send has swallowed the error that would tell a reset from
	 * an end, so an end that closes the content must come without one.
	 */
	if (how == IO_END && !t->send_failed && t->head_read &&
	    (t->framing.kind == FRAMING_CLOSE || !GUARD(answer_is_whole)))
		complete(t, false);
	else
		transfer_finish(t, FORWARD_BROKEN, E_CLOSED);
	return false;
}

/* How long the connection may be idle now; 0: it must be closed. */
static int64_t
idle_ms(struct transfer *t, bool surplus)
{
	struct connection *c = t->connection;
	struct upstreams *u = t->upstreams;
	if (!t->limits.reuse || surplus || t->send_failed ||
	    (t->taken_bytes < t->total_bytes && GUARD(request_is_whole)) ||
	    (!t->head.persistent && GUARD(close_is_heard)) ||
	    t->framing.kind == FRAMING_CLOSE ||
	    loop_now_ms(u->loop) - c->made_ms >= CONNECTION_LIFE_MS)
		return 0;
	/*
	 * An answer that came before the whole body had arrived: many servers
	 * close then without reading the rest.
	 */
	if (t->message.body.len > t->front_bytes && connection_has_unsent(c) &&
	    GUARD(request_is_whole))
		return 0;
	/* TLS may hold more of what came than it has given. */
	if (c->tls && connection_receive(c, u->buffer, 1) != IO_AGAIN)
		return 0;
	int64_t ms = t->upstream->max_idle_ms;
	if (t->head.keep_alive_s >= 0 &&
	    1000 * (t->head.keep_alive_s - 1) < ms)
		ms = 1000 * (t->head.keep_alive_s - 1);
	return ms > 0 ? ms : 0;
}

static void
complete(struct transfer *t, bool surplus)
{
	struct forward *forward = t->forward;
	forward->status = t->head.status;
	forward->head = head_take(&t->head, &forward->fields);
	int64_t ms = idle_ms(t, surplus);
	if (ms > 0)
		pool_put(&t->target->pool, &t->connection, ms);
	transfer_finish(t, FORWARD_ANSWERED, 0);
}
