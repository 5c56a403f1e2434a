/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "http/upstream/connection.h"
#include "http/upstream/forward_private.h"
#include "http/upstream/transfer_answer_private.h"
#include "http/upstream/transfer_private.h"
#include "http/upstream/upstreams_private.h"

enum {
	/* A piece of a streamed body, which is sent as one chunk. */
	STAGE_BYTES = 16384,
};

static bool stage(struct transfer *t);
static bool send_more(struct transfer *t);

/* --- the end of the lease --- */

/* From then on nothing more may be sent; not by the loop's clock. */
static int64_t
lease_left_us(const struct transfer *t)
{
	const int64_t *until_us = t->limits.send_until_us;
	return until_us != NULL ? *until_us - clock_us() : INT64_MAX;
}

/* Nothing of it is left here, nor in the kernel, that could still go out. */
static bool
sends_no_more(const struct transfer *t)
{
	if (t->send_failed)
		return true;
	return t->message.source == NULL && t->taken_bytes > 0 &&
	    t->taken_bytes == t->total_bytes &&
	    (t->target->conf->unix_path != NULL ||
		!connection_has_unsent(t->connection));
}

void
transfer_abandon(struct transfer *t)
{
	if (t->connection != NULL && !t->connecting &&
	    t->forward->sent_bytes > 0 && !sends_no_more(t))
		connection_reset(t->connection);
}

static void
watch_lease(struct transfer *t)
{
	int64_t left_us = lease_left_us(t);
	if (left_us != INT64_MAX)
		timer_set(&t->lease_end, (left_us + 999) / 1000);
}

/* Unless it was renewed meanwhile. */
static void
on_lease_end(void *arg)
{
	struct transfer *t = arg;
	bool sent = t->forward->sent_bytes > 0;
	if (lease_left_us(t) > 0) {
		watch_lease(t);
	} else if (!sends_no_more(t) && INVARIANT(cut_at_lease)) {
		transfer_abandon(t);
		forward_finish(t, sent ? FORWARD_BROKEN : FORWARD_NOT_SENT,
		    sent ? E_LEASE_CUT : E_LEASE_OVER);
	}
}

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
	if ((events & WATCH_READ) && !transfer_answer_read(t))
		return;
	if (!(events & WATCH_WRITE))
		return;
	if (!send_more(t))
		forward_retry(t, E_CLOSED);
	else if (t->send_failed)
		transfer_answer_read(t);
}

bool
transfer_begin(struct transfer *t)
{
	t->taken_bytes = 0;
	t->send_failed = false;
	transfer_answer_begin(t);
	connection_watch(t->connection, on_connection_ready, t);
	watch_lease(t);
	if (!send_more(t))
		return false;
	if (t->send_failed)
		transfer_answer_read(t);
	return true;
}

void
transfer_drained(void *transfer)
{
	struct transfer *t = transfer;
	t->moved_ms = loop_now_ms(t->upstreams->loop);
	transfer_answer_read(t);
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
		transfer_answer_read(t);
}

bool
transfer_waits_for_flow(const struct transfer *t)
{
	if (t->connection == NULL || t->connecting)
		return false;
	return (t->is_full && !t->memory.waits) ||
	    (t->message.source != NULL && !t->source_done &&
		!t->send_failed && t->taken_bytes == t->total_bytes);
}

void
transfer_want(struct transfer *t)
{
	connection_want(t->connection, !t->is_full,
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

/* All of the body is with the connection: its memory is free for others. */
static void
give_body_back(struct transfer *t)
{
	if (t->message.spent != NULL && t->taken_bytes == t->total_bytes)
		body_clear(t->message.spent);
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
		/* What follows is on_lease_end()'s. */
		if (forward->sent_bytes > 0 && lease_left_us(t) <= 0 &&
		    INVARIANT(cut_at_lease))
			break;
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
			if (t->message.source != NULL &&
			    forward->sent_bytes > 0)
				flow_close(t->message.source);
			return forward->sent_bytes > 0;
		}
		t->taken_bytes += (size_t)n;
		t->moved_ms = loop_now_ms(t->upstreams->loop);
		forward->sent_bytes = t->taken_bytes;
	}
	give_body_back(t);
	transfer_want(t);
	return true;
}

/* --- life --- */

static void
on_read_again(void *arg)
{
	transfer_answer_read(arg);
}

struct transfer *
transfer_new(struct upstreams *upstreams)
{
	struct transfer *t = mem_zero(sizeof *t);
	t->upstreams = upstreams;
	body_init(&t->request, NULL);
	body_init(&t->early, NULL);
	task_init(&t->again, on_read_again, t);
	timer_init(&t->lease_end, upstreams->loop, on_lease_end, t);
	answer_memory_init(&t->memory, upstreams->loop, upstreams->budget,
	    on_read_again, t);
	return t;
}

void
transfer_free(struct transfer *t)
{
	target_round_free(&t->round);
	body_clear(&t->request);
	body_clear(&t->early);
	head_free(&t->head);
	free(t);
}
