/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "http/upstream/connection.h"
#include "http/upstream/forward_private.h"
#include "http/upstream/transfer_answer_private.h"
#include "http/upstream/upstreams_private.h"

enum {
	/* Reads in a row before others have their turn. */
	READS_MAX = 16,
	/*
	 * While memory is short a head is read in such pieces, for what comes
	 * with it of the content is kept whether or not there is room.
	 */
	HEAD_BYTES = 4096,
	/* So little room is not worth a read. */
	LEAST_BYTES = 512,
	/* Connections end some time, so that changes of DNS are followed. */
	CONNECTION_LIFE_MS = 300000,
};

static void begin_rest(struct transfer *t);
static bool take_bytes(struct transfer *t, struct span bytes);
static bool take_content(struct transfer *t, struct span bytes);
static bool take_end(struct transfer *t, ssize_t how);

/* --- room --- */

static size_t
min_bytes(uint64_t a, uint64_t b)
{
	return (size_t)(a < b ? a : b);
}

/* For the head, and whatever comes with it. */
static size_t
head_room(const struct transfer *t)
{
	return budget_has(t->upstreams->budget, READ_BYTES) ? READ_BYTES
							    : HEAD_BYTES;
}

/* For content that is kept whole, or begins to flow beyond max_body. */
static size_t
kept_room(struct transfer *t)
{
	struct body *body = &t->forward->body;
	bool known = t->framing.kind == FRAMING_LENGTH;
	uint64_t left = known ? t->framing.left
			      : t->limits.max_body - body->len + LEAST_BYTES;
	size_t least = min_bytes(left, LEAST_BYTES);
	if (body->size - body->len < least &&
	    !answer_memory_get(&t->memory, body, body->len + least,
		body->len + (size_t)left, known))
		return 0;
	size_t bytes = body->size - body->len;
	/* Of a known length, what comes behind the content needs no room. */
	return known && bytes >= left ? READ_BYTES
				      : min_bytes(bytes, READ_BYTES);
}

/* For content that flows on as soon as the record says that it is not kept. */
static size_t
flow_room_of(struct transfer *t)
{
	struct flow *rest = t->forward->rest;
	if (rest->body.size == 0 &&
	    !answer_memory_get(&t->memory, &rest->body, FLOW_LEAST_BYTES,
		FLOW_LEAST_BYTES, true))
		return 0;
	return min_bytes(flow_room(rest), READ_BYTES);
}

/* For content that flows from its first byte on. */
static size_t
streamed_room(struct transfer *t)
{
	struct body *body = &t->forward->body;
	if (body->len < body->size)
		return body->size - body->len;
	if (body->size < FLOW_BYTES &&
	    body_reserve_spare(body, FLOW_BYTES) == 0)
		return body->size - body->len;
	begin_rest(t);
	return flow_room_of(t);
}

/* So many bytes can be read: whatever comes must have a place. */
static size_t
room(struct transfer *t)
{
	if (t->forward->rest != NULL)
		return flow_room_of(t);
	if (t->limits.streams)
		return streamed_room(t);
	return t->head_read ? kept_room(t) : head_room(t);
}

bool
transfer_answer_is_unread(const struct transfer *t)
{
	return t->head_read && t->memory.waits && t->forward->rest == NULL;
}

/* --- reading --- */

void
transfer_answer_begin(struct transfer *t)
{
	t->head_read = false;
	t->is_full = false;
	head_begin(&t->head, t->limits.max_head);
}

/* Nothing has come, or nothing can be read. */
static void
stop_reading(struct transfer *t, bool is_full)
{
	if (t->limits.streams && t->head_read && t->forward->rest == NULL)
		begin_rest(t);
	t->is_full = is_full;
	transfer_want(t);
}

static struct span
early_left(const struct transfer *t)
{
	return span_from(body_span(&t->early), t->early_at);
}

/* Takes what has room now of that which came with the head. */
static bool
take_early(struct transfer *t, size_t size)
{
	struct span bytes = early_left(t);
	bytes.len = min_bytes(bytes.len, size);
	t->early_at += bytes.len;
	return take_content(t, bytes);
}

bool
transfer_answer_read(struct transfer *t)
{
	char *buffer = t->upstreams->buffer;
	for (unsigned i = 0; i < READS_MAX; i++) {
		size_t size = room(t);
		if (size == 0) {
			stop_reading(t, true);
			return true;
		}
		if (early_left(t).len > 0) {
			if (!take_early(t, size))
				return false;
			continue;
		}
		ssize_t n = connection_receive(t->connection, buffer, size);
		if (n == IO_AGAIN && !t->send_failed) {
			stop_reading(t, false);
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
static void keep_content(struct transfer *t, struct span content);
static void complete(struct transfer *t, bool surplus);

/* What came with the head: what has no room of it has to wait. */
static void
keep_early(struct transfer *t, struct span *bytes)
{
	bool none = t->framing.kind == FRAMING_NONE ||
	    (t->framing.kind == FRAMING_LENGTH && t->framing.left == 0);
	if (none || bytes->len == 0)
		return;
	size_t size = min_bytes(room(t), bytes->len);
	struct span late = span_from(*bytes, size);
	must(body_append(&t->early, late.ptr, late.len) == 0);
	bytes->len = size;
}

static bool
take_bytes(struct transfer *t, struct span bytes)
{
	if (!t->head_read) {
		if (!take_head(t, &bytes))
			return false;
		if (!t->head_read)
			return true;
		keep_early(t, &bytes);
	}
	return take_content(t, bytes);
}

static bool
take_content(struct transfer *t, struct span bytes)
{
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
			complete(t, bytes.len > 0 || early_left(t).len > 0);
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
	if (t->framing.kind == FRAMING_LENGTH && !t->limits.streams &&
	    t->framing.left > t->limits.max_body) {
		(void)!body_reserve_spare(&forward->body, FLOW_BYTES);
		begin_rest(t);
	}
	return true;
}

/* The answer is given, and what more comes of it flows. */
static void
begin_rest(struct transfer *t)
{
	struct upstreams *u = t->upstreams;
	struct forward *forward = t->forward;
	answer_memory_end(&t->memory);
	forward->rest = mem_zero(sizeof *forward->rest);
	flow_init(forward->rest, u->loop, u->budget);
	flow_write_by(forward->rest, transfer_drained, t);
	body_move(&forward->rest->body, &forward->body);
	forward->rest_length = t->framing.kind == FRAMING_LENGTH
	    ? t->head.content_length
	    : -1;
	forward_answered(t);
}

static void
keep_content(struct transfer *t, struct span content)
{
	struct forward *forward = t->forward;
	struct body *body = &forward->body;
	if (content.len == 0)
		return;
	if (forward->rest == NULL &&
	    content.len > t->limits.max_body - body->len)
		begin_rest(t);
	/* room() was asked before: it has a place. */
	if (forward->rest != NULL)
		must(flow_put(forward->rest, content.ptr, content.len) ==
		    content.len);
	else
		must(body_append(body, content.ptr, content.len) == 0);
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
	    loop_now_ms(u->loop) - c->made_ms >= CONNECTION_LIFE_MS)
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
	if (c->tls &&
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
	if (!t->limits.streams)
		body_trim(&t->forward->body);
	if (ms > 0)
		target_keep(t->target, &t->connection, ms);
	forward_finish(t, FORWARD_ANSWERED, 0);
}
