/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "upstream/connection.h"
#include "upstream/forward_private.h"
#include "upstream/transfer_private.h"
#include "upstream/upstreams_private.h"

enum {
	/* Reads in a row before others have their turn. */
	READS_MAX = 16,
	/* Of a body whose length is known: room that is made at once. */
	RESERVE_BYTES = 65536,
	/* Connections end some time, so that changes of DNS are followed. */
	CONNECTION_LIFE_MS = 300000,
	/* A piece of a streamed body, which is sent as one chunk. */
	STAGE_BYTES = 16384,
};

static bool stage(struct transfer *t);
static bool send_more(struct transfer *t);
static bool receive(struct transfer *t);
static bool take_bytes(struct transfer *t, struct span bytes);
static bool take_end(struct transfer *t, ssize_t how);

/* --- sending --- */

static void
on_connection_ready(void *arg, unsigned events)
{
	struct transfer *t = arg;
	bool unsent = t->forward->sent_bytes == 0;
	/* What comes before the first byte was taken is no answer. */
	if (unsent && (events & WATCH_READ)) {
		forward_retry(t, E_CLOSED);
		return;
	}
	if ((events & WATCH_READ) && !receive(t))
		return;
	if (!(events & WATCH_WRITE))
		return;
	if (!send_more(t))
		forward_retry(t, E_CLOSED);
	else if (t->send_failed)
		receive(t);
}

bool
transfer_begin(struct transfer *t)
{
	t->taken_bytes = 0;
	t->send_failed = false;
	t->head_read = false;
	t->rest_is_full = false;
	head_begin(&t->head, t->limits.max_head);
	connection_watch(t->connection, on_connection_ready, t);
	if (!send_more(t))
		return false;
	if (t->send_failed)
		receive(t);
	return true;
}

void
transfer_continue(struct transfer *t)
{
	receive(t);
}

void
transfer_drained(void *transfer)
{
	struct transfer *t = transfer;
	t->moved_ms = loop_now_ms(t->upstreams->loop);
	receive(t);
}

/* The client left, or sent less than it had announced. */
static bool
source_is_broken(const struct transfer *t)
{
	struct flow *source = t->message.source;
	if (!source->ended)
		return false;
	return source->error != 0 ||
	    (!t->source_done && t->message.length >= 0 &&
		(int64_t)flow_look(source).len < t->source_left);
}

void
transfer_fed(void *transfer)
{
	struct transfer *t = transfer;
	if (source_is_broken(t)) {
		int error = t->message.source->error;
		forward_finish(t,
		    t->forward->sent_bytes > 0 ? FORWARD_BROKEN
					       : FORWARD_NOT_SENT,
		    error != 0 ? error : E_CLIENT_GONE);
		return;
	}
	if (t->connection == NULL || t->connecting || t->send_failed ||
	    t->taken_bytes < t->total_bytes)
		return;
	t->moved_ms = loop_now_ms(t->upstreams->loop);
	must(send_more(t));
	if (t->send_failed)
		receive(t);
}

bool
transfer_waits_for_flow(const struct transfer *t)
{
	if (t->connection == NULL || t->connecting)
		return false;
	return t->rest_is_full ||
	    (t->message.source != NULL && !t->source_done &&
		!t->send_failed && t->taken_bytes == t->total_bytes);
}

static void
want(struct transfer *t)
{
	connection_want(t->connection, !t->rest_is_full,
	    !t->send_failed && t->taken_bytes < t->total_bytes);
}

/* What is to be sent next, in one piece of stable memory. */
static struct span
next_piece(const struct transfer *t)
{
	struct span request = body_span(&t->request);
	if (t->message.source != NULL)
		return span_from(request,
		    request.len - (t->total_bytes - t->taken_bytes));
	if (t->taken_bytes < request.len)
		return span_from(request, t->taken_bytes);
	return span_from(t->message.body,
	    t->taken_bytes - request.len + t->front_bytes);
}

/* Makes a chunk of it, or takes it as it is. */
static void
stage_content(struct transfer *t, struct span content)
{
	bool chunked = t->message.length < 0;
	char size[24];
	if (chunked) {
		int len = snprintf(size, sizeof size, "%zx\r\n", content.len);
		must(body_append(&t->request, size, (size_t)len) == 0);
	} else {
		t->source_left -= (int64_t)content.len;
		t->source_done = t->source_left == 0;
	}
	must(body_append(&t->request, content.ptr, content.len) == 0);
	if (chunked)
		must(body_append(&t->request, "\r\n", 2) == 0);
	flow_take(t->message.source, content.len);
}

/* The next piece of a streamed body; false where there is none. */
static bool
stage(struct transfer *t)
{
	struct flow *source = t->message.source;
	if (source == NULL || t->source_done)
		return false;
	struct span content = flow_look(source);
	size_t most = STAGE_BYTES;
	if (t->message.length >= 0 && t->source_left < (int64_t)most)
		most = (size_t)t->source_left;
	t->request.len = 0;
	if (content.len > 0 && most > 0) {
		stage_content(
		    t, span_of(content.ptr,
			   content.len < most ? content.len : most));
	} else if (t->message.length < 0 && source->ended &&
	    source->error == 0) {
		t->source_done = true;
		must(body_append(&t->request, "0\r\n\r\n", 5) == 0);
	}
	t->total_bytes += t->request.len;
	return t->request.len > 0;
}

/*
 * Sends what the connection takes.  False where it failed and has certainly
 * taken nothing, or it is too late to begin; where it failed later,
 * send_failed is set: an answer may have come all the same.
 */
static bool
send_more(struct transfer *t)
{
	struct connection *c = t->connection;
	struct forward *forward = t->forward;
	if (forward_too_late(t))
		return false;
	while (t->taken_bytes < t->total_bytes || stage(t)) {
		struct span piece = next_piece(t);
		/*
		 * TLS may have put records on the wire when it says "again",
		 * and a part of one when it fails: trying it is sending it.
		 */
		if (connection_is_tls(c) && forward->sent_bytes == 0)
			forward->sent_bytes = 1;
		ssize_t n = connection_send(c, piece.ptr, piece.len);
		if (n == IO_AGAIN)
			break;
		if (n < 0) {
			t->send_failed = true;
			if (t->message.source != NULL &&
			    forward->sent_bytes > 0)
				flow_close(t->message.source);
			return forward->sent_bytes > 0;
		}
		t->taken_bytes += (size_t)n;
		t->moved_ms = loop_now_ms(t->upstreams->loop);
		forward->sent_bytes = t->taken_bytes;
	}
	want(t);
	return true;
}

/* --- receiving --- */

static void begin_rest(struct transfer *t);

/* So many bytes can be read: whatever comes must have a place. */
static size_t
room(struct transfer *t)
{
	struct body *body = &t->forward->body;
	if (t->forward->rest == NULL) {
		if (!t->limits.streams)
			return READ_BYTES;
		if (body->len < body->size)
			return body->size - body->len;
		if (body->size < FLOW_BYTES &&
		    body_reserve_spare(body, FLOW_BYTES) == 0)
			return body->size - body->len;
		begin_rest(t);
	}
	size_t bytes = flow_room(t->forward->rest);
	return bytes < READ_BYTES ? bytes : READ_BYTES;
}

/* Nothing has come, or nothing can be read. */
static void
stop_reading(struct transfer *t, bool is_full)
{
	if (t->limits.streams && t->head_read && t->forward->rest == NULL)
		begin_rest(t);
	t->rest_is_full = is_full;
	want(t);
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
		size_t size = room(t);
		ssize_t n = size == 0
		    ? IO_AGAIN
		    : connection_receive(t->connection, buffer, size);
		if (size == 0 || (n == IO_AGAIN && !t->send_failed)) {
			stop_reading(t, size == 0);
			return true;
		}
		if (n <= 0)
			return take_end(t, n);
		t->moved_ms = loop_now_ms(t->upstreams->loop);
		if (!take_bytes(t, span_of(buffer, (size_t)n)))
			return false;
	}
	task_ready(t->upstreams->loop, &t->again);
	return true;
}

/* --- the answer; these return false when the transfer has ended --- */

static bool take_head(struct transfer *t, struct span *bytes);
static void overflow(struct transfer *t);
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
		enum answer_framing_state state =
		    answer_framing_feed(&t->framing, &bytes, &content);
		keep_content(t, content);
		if (state == FRAMING_MALFORMED) {
			forward_finish(t, FORWARD_MALFORMED, E_MALFORMED);
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
		forward_finish(t, FORWARD_MALFORMED, E_MALFORMED);
		return false;
	case HEAD_TOO_LARGE:
		forward_finish(t, FORWARD_MALFORMED, E_TOO_LARGE);
		return false;
	}
	bool to_head = span_eq(t->message.method, SPAN("HEAD"));
	t->head_read = true;
	answer_framing_begin(&t->framing, &t->head, to_head);
	if (to_head || t->head.status == 304)
		forward->head_length = t->head.content_length;
	if (t->framing.kind == FRAMING_CLOSE && !t->limits.close_delimited &&
	    INVARIANT(end_is_told)) {
		/* Nobody could tell the whole answer from a part of it. */
		forward_finish(t, FORWARD_MALFORMED, E_MALFORMED);
		return false;
	}
	if (t->framing.kind == FRAMING_LENGTH && !t->limits.streams) {
		uint64_t length = t->framing.left;
		if (length > t->limits.max_body)
			overflow(t);
		else
			forward->body_dropped = body_reserve(&forward->body,
			    length < RESERVE_BYTES ? length
						   : RESERVE_BYTES) != 0;
	}
	return true;
}

/* The answer is given, and what more comes of it flows. */
static void
begin_rest(struct transfer *t)
{
	struct upstreams *u = t->upstreams;
	struct forward *forward = t->forward;
	forward->rest = mem_zero(sizeof *forward->rest);
	flow_init(forward->rest, u->loop, u->budget);
	flow_write_by(forward->rest, transfer_drained, t);
	body_move(&forward->rest->body, &forward->body);
	forward->rest_length = t->framing.kind == FRAMING_LENGTH
	    ? t->head.content_length
	    : -1;
	forward_answered(t);
}

/* More than max_body: with room for the bytes that were just read. */
static void
overflow(struct transfer *t)
{
	struct body *body = &t->forward->body;
	if (body_reserve(body, body->len + READ_BYTES) == 0) {
		begin_rest(t);
		return;
	}
	body_clear(body);
	t->forward->body_dropped = true;
}

static void
keep_content(struct transfer *t, struct span content)
{
	struct forward *forward = t->forward;
	struct body *body = &forward->body;
	if (forward->body_dropped || content.len == 0)
		return;
	if (forward->rest == NULL &&
	    content.len > t->limits.max_body - body->len)
		overflow(t);
	if (forward->rest != NULL) {
		must(flow_put(forward->rest, content.ptr, content.len) ==
		    content.len);
	} else if (body_append(body, content.ptr, content.len) != 0) {
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
	    (t->framing.kind == FRAMING_CLOSE || !INVARIANT(answer_is_whole)))
		complete(t, false);
	else
		forward_finish(t, FORWARD_BROKEN, E_CLOSED);
	return false;
}

/* How long the connection may be idle now; 0: it must be closed. */
static int64_t
idle_ms(struct transfer *t, bool surplus)
{
	struct connection *c = t->connection;
	struct upstreams *u = t->upstreams;
	if (!t->limits.reuse || surplus || t->send_failed ||
	    (t->taken_bytes < t->total_bytes && INVARIANT(request_is_whole)) ||
	    (!t->head.persistent && INVARIANT(close_is_heard)) ||
	    (t->message.source != NULL && !t->source_done) ||
	    t->framing.kind == FRAMING_CLOSE ||
	    loop_now_ms(u->loop) - connection_made_ms(c) >= CONNECTION_LIFE_MS)
		return 0;
	/*
	 * An answer that came before the whole body had arrived: many servers
	 * close then without reading the rest.
	 */
	bool long_body = t->message.source != NULL ||
	    t->message.body.len > t->front_bytes;
	if (long_body && connection_has_unsent(c) &&
	    INVARIANT(request_is_whole))
		return 0;
	/* TLS may hold more of what came than it has given. */
	if (connection_is_tls(c) &&
	    connection_receive(c, u->buffer, 1) != IO_AGAIN)
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
	int64_t ms = idle_ms(t, surplus);
	if (ms > 0)
		pool_put(&t->target->pool, &t->connection, ms);
	forward_finish(t, FORWARD_ANSWERED, 0);
}

void
transfer_free(struct transfer *t)
{
	target_round_free(&t->round);
	body_clear(&t->request);
	head_free(&t->head);
	free(t);
}
