/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "http/upstream/connection.h"
#include "http/upstream/forward_private.h"
#include "http/upstream/transfer_answer_private.h"
#include "http/upstream/transfer_private.h"
#include "http/upstream/upstreams_private.h"

enum {
	/* So much of a body goes with the head, in one send. */
	FRONT_BYTES = 16384,
	SPARE_MAX = 256,
};

static void try_connections(struct transfer *t);
static int write_request(struct transfer *t);

/* --- life --- */

static int64_t
timeout_ms(const struct transfer *t)
{
	return t->limits.timeout_ms > 0 ? t->limits.timeout_ms
					: t->upstream->timeout_ms;
}

/* Who has to wait for the other side of a flow is not silent. */
static void
on_silence(void *arg)
{
	struct transfer *t = arg;
	int64_t now_ms = loop_now_ms(t->upstreams->loop);
	if (transfer_waits_for_flow(t))
		t->moved_ms = now_ms;
	int64_t end_ms = t->moved_ms + timeout_ms(t);
	/* Even if it is over by now: what came lately is read before. */
	if (end_ms > t->silence.at_ms) {
		timer_set_at(&t->silence, end_ms);
		return;
	}
	if (t->connecting)
		target_failed(t->target, now_ms);
	transfer_abandon(t);
	forward_finish(t,
	    t->forward->sent_bytes > 0 ? FORWARD_TIMEOUT : FORWARD_NOT_SENT,
	    E_TIMEOUT);
}

static void
watch_silence(struct transfer *t)
{
	t->moved_ms = clock_us() / 1000;
	timer_set_at(&t->silence, t->moved_ms + timeout_ms(t));
}

static struct transfer *
transfer_take(struct upstreams *u)
{
	struct transfer *t = u->spare;
	if (t != NULL) {
		u->spare = t->next_spare;
		u->n_spare--;
	} else {
		t = transfer_new(u);
		timer_init(&t->silence, u->loop, on_silence, t);
	}
	u->pending++;
	return t;
}

/* How long the upstream took: to its answer, not to the end of its rest. */
static void
measure(const struct transfer *t)
{
	const struct upstreams *u = t->upstreams;
	if (u->took != NULL)
		histogram_add(u->took[t->upstream->index],
		    clock_us() - t->forward->op.began_us);
}

/* The forward is alone from now on; a connection left to it is closed. */
static void
transfer_rest(struct transfer *t)
{
	struct upstreams *u = t->upstreams;
	if (t->forward->rest == NULL)
		measure(t);
	connection_close(&t->connection);
	task_cancel(&t->again);
	timer_clear(&t->silence);
	timer_clear(&t->lease_end);
	answer_memory_end(&t->memory);
	body_clear(&t->early);
	t->early_at = 0;
	if (t->message.source != NULL)
		flow_close(t->message.source);
	t->forward->transfer = NULL;
	t->forward = NULL;
	u->pending--;
	if (u->n_spare == SPARE_MAX) {
		transfer_free(t);
		return;
	}
	t->next_spare = u->spare;
	u->spare = t;
	u->n_spare++;
}

/* The time is up (the operation ends by itself), or the owner gives up. */
static void
on_forward_detached(struct op *op, int error)
{
	struct forward *forward = CONTAINER_OF(op, struct forward, op);
	struct transfer *t = forward->transfer;
	if (error == E_TIMEOUT && transfer_answer_is_unread(t) &&
	    INVARIANT(status_counts)) {
		forward_finish(t, FORWARD_UNREAD, E_NO_MEMORY);
		return;
	}
	transfer_abandon(t);
	if (error == E_TIMEOUT && t->connecting)
		target_failed(t->target, loop_now_ms(t->upstreams->loop));
	forward->result = forward->sent_bytes > 0 && INVARIANT(late_is_unknown)
	    ? FORWARD_TIMEOUT
	    : FORWARD_NOT_SENT;
	body_clear(&forward->body);
	transfer_rest(t);
}

void
forward_start(struct upstreams *upstreams, struct forward *forward,
    const struct conf_upstream *upstream, const struct message *message,
    const struct forward_limits *limits)
{
	must(forward->transfer == NULL && forward->head == NULL);
	must(upstream == &upstreams->list[upstream->index]);
	struct transfer *t = transfer_take(upstreams);
	forward->transfer = t;
	forward->result = FORWARD_NOT_SENT;
	forward->sent_bytes = 0;
	forward->target = NULL;
	forward->status = 0;
	forward->fields = (struct fields){0};
	forward->rest = NULL;
	forward->rest_length = -1;
	forward->head_length = -1;
	body_init(&forward->body, upstreams->budget);
	t->forward = forward;
	t->message = *message;
	t->limits = *limits;
	t->upstream = upstream;
	t->target = NULL;
	t->connecting = false;
	t->error = E_UNREACHABLE;
	if (message->source != NULL)
		flow_read_by(message->source, transfer_fed, t);
	target_round_begin(&t->round, &upstreams->targets[upstream->index]);
	op_start(&forward->op, limits->streams ? 0 : timeout_ms(t),
	    on_forward_detached);
	if (limits->streams) {
		watch_silence(t);
		/* The answer's; who brings no body is never refused it. */
		int error = message->has_body
		    ? body_reserve(&forward->body, FLOW_LEAST_BYTES)
		    : body_reserve_granted(&forward->body, FLOW_LEAST_BYTES);
		if (error != 0) {
			forward_finish(t, FORWARD_NOT_SENT, E_NO_MEMORY);
			return;
		}
	}
	try_connections(t);
}

size_t
forward_sent_bytes(const struct forward *forward)
{
	return forward->sent_bytes;
}

const struct conf_target *
forward_target(const struct forward *forward)
{
	return forward->sent_bytes > 0 ? forward->target : NULL;
}

const struct conf_target *
forward_tried(const struct forward *forward)
{
	return forward->target;
}

void
forward_stop(struct forward *forward)
{
	op_cancel(&forward->op);
	struct transfer *t = forward->transfer;
	if (t != NULL)
		forward_finish(t, forward->result, E_CANCELLED);
}

void
forward_move(struct forward *to, struct forward *from)
{
	must(to->transfer == NULL && to->head == NULL);
	must(from->op.state == OP_DONE && from->body.ptr == NULL);
	struct op op = to->op;
	*to = *from;
	to->op = op;
	if (to->transfer != NULL)
		to->transfer->forward = to;
	from->transfer = NULL;
	from->rest = NULL;
	from->head = NULL;
	from->fields = (struct fields){0};
}

void
forward_clear(struct forward *forward)
{
	must(forward->transfer == NULL);
	if (forward->rest != NULL)
		flow_clear(forward->rest);
	free(forward->rest);
	forward->rest = NULL;
	free(forward->head);
	forward->head = NULL;
	forward->fields = (struct fields){0};
	body_clear(&forward->body);
}

/* --- before anything is sent --- */

static void
on_connection_made(void *arg, int error)
{
	struct transfer *t = arg;
	t->connecting = false;
	if (error == 0) {
		/* A peer that speaks or leaves unasked is of no use. */
		error = E_CLOSED;
		if (connection_is_silent(t->connection) ||
		    !INVARIANT(asked_first)) {
			target_reached(t->target);
			if (transfer_begin(t))
				return;
		}
	}
	forward_retry(t, error);
}

/*
 * Finds a connection and begins the exchange on it: an idle one, or a new
 * one, of each target in turn.
 */
static void
try_connections(struct transfer *t)
{
	must(t->forward->sent_bytes == 0 && t->connection == NULL);
	if (t->target == NULL) {
		t->target = target_round_next(
		    &t->round, loop_now_ms(t->upstreams->loop));
		if (t->target != NULL)
			t->forward->target = t->target->conf;
		int error = t->target ? write_request(t) : t->error;
		if (error != 0) {
			forward_finish(t, FORWARD_NOT_SENT, error);
			return;
		}
	}
	if (t->limits.reuse)
		t->connection = target_take(t->target);
	t->fresh = t->connection == NULL;
	if (t->fresh) {
		t->connecting = true;
		t->connection =
		    connection_open(&t->target->dialler, on_connection_made, t);
	} else if (!transfer_begin(t)) {
		forward_retry(t, E_CLOSED);
	}
}

bool
forward_too_late(const struct transfer *t)
{
	const int64_t *until_us = t->limits.send_until_us;
	/* Not the loop's clock, which stands still while a process does. */
	return INVARIANT(sent_in_lease) && until_us != NULL &&
	    t->forward->sent_bytes == 0 && clock_us() >= *until_us;
}

/* An idle connection that is closed makes room for one that is needed. */
static bool
make_room(struct upstreams *upstreams)
{
	for (size_t i = 0; i < upstreams->count; i++) {
		struct target_list *targets = &upstreams->targets[i];
		for (size_t k = 0; k < targets->count; k++)
			if (target_drop(&targets->list[k]))
				return true;
	}
	return false;
}

/*
 * An idle connection that failed says nothing about its target, and neither
 * does one for which we had no descriptor.
 */
void
forward_retry(struct transfer *t, int error)
{
	connection_close(&t->connection);
	timer_clear(&t->lease_end);
	if (forward_too_late(t)) {
		forward_finish(t, FORWARD_NOT_SENT, E_LEASE_OVER);
		return;
	}
	if (error == E_DESCRIPTORS && !make_room(t->upstreams)) {
		forward_finish(t, FORWARD_NOT_SENT, error);
		return;
	}
	if (t->fresh && error != E_DESCRIPTORS) {
		target_failed(t->target, loop_now_ms(t->upstreams->loop));
		t->error = error;
		t->target = NULL;
	}
	try_connections(t);
}

/* The head for the present target, and as much of the body as goes with it. */
static int
write_request(struct transfer *t)
{
	const struct message *m = &t->message;
	const struct conf_target *target = t->target->conf;
	bool preserve =
	    t->upstream->host == HOST_PRESERVE && m->authority.len > 0;
	const struct head_request request = {
	    .method = m->method,
	    .base_path = span_str(target->base_path),
	    .target = m->target,
	    .host = preserve ? m->authority : span_str(target->authority),
	    .fields = &m->fields,
	    .has_body = m->has_body,
	    .chunked = m->source != NULL && m->length < 0,
	    .body_bytes = m->source ? (size_t)m->length : m->body.len,
	    .close = !t->limits.reuse,
	};
	must(m->has_body || (m->body.len == 0 && m->source == NULL));
	must(m->source == NULL || m->body.len == 0);
	t->request.len = 0;
	int error = head_write(&request, &t->request);
	if (error != 0)
		return error;
	t->source_left = m->length;
	t->source_done = false;
	t->total_bytes = t->request.len + m->body.len;
	t->front_bytes = m->body.len < FRONT_BYTES ? m->body.len : FRONT_BYTES;
	must(body_append(&t->request, m->body.ptr, t->front_bytes) == 0);
	return 0;
}

/* --- the end --- */

/* The whole head becomes the forward's. */
static void
take_answer_head(struct transfer *t)
{
	struct forward *forward = t->forward;
	forward->result = FORWARD_ANSWERED;
	forward->status = t->head.status;
	forward->head = head_take(&t->head, &forward->fields);
}

void
forward_answered(struct transfer *t)
{
	take_answer_head(t);
	measure(t);
	if (!t->limits.streams)
		watch_silence(t);
	op_done(&t->forward->op, 0);
}

void
forward_finish(
    struct transfer *t, enum forward_result result, int error)
{
	struct forward *forward = t->forward;
	if (forward->rest != NULL) {
		transfer_rest(t);
		flow_end(forward->rest, error);
		return;
	}
	if (result == FORWARD_ANSWERED || result == FORWARD_UNREAD)
		take_answer_head(t);
	if (result != FORWARD_ANSWERED)
		body_clear(&forward->body);
	forward->result = result;
	transfer_rest(t);
	op_done(&forward->op, error);
}
