/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "http/upstream/answer_framing.h"
#include "http/upstream/answer_memory.h"
#include "http/upstream/connection.h"
#include "http/upstream/forward_private.h"

/*
 * A forward begins, finds a connection, sends the request on it, reads the
 * answer, and ends: this file reads in that order.
 */
enum {
	/* The front of a body, which goes with the head in one send. */
	FRONT_BYTES = 16384,
	/* A piece of a streamed body, which is sent as one chunk. */
	STAGE_BYTES = 16384,
	/* Reads in a row before others have their turn. */
	READS_MAX = 16,
	/*
	 * While memory is short a head is read in such pieces, for what comes
	 * with it of the content is kept whether or not there is room.
	 */
	HEAD_BYTES = 4096,
	/* Less room than that is not worth a read. */
	LEAST_BYTES = 512,
	/* Transfers that are kept for the next forwards. */
	SPARE_MAX = 256,
};

/*
 * A transfer is the part of a forward that it needs while it is pending, or a
 * rest of its answer is to come.  One that is done is kept, with its buffers,
 * for the next forward.
 */
struct transfer {
	struct transfer *next_spare;
	struct upstreams *upstreams;
	struct forward *forward;
	struct message message;
	struct forward_limits limits;
	const struct conf_upstream *upstream;
	struct timer timeout; /* of one that streams, or of a rest */
	int64_t active_ms;    /* when something was last sent or read */

	struct target_round round;
	struct target *target; /* that is tried; NULL: the next is to be */
	struct connection *connection;
	bool connecting;
	bool fresh; /* nothing was asked on the connection before */
	int error;  /* why the last target failed */

	/*
	 * The request is sent from here: the head, and the front of the body
	 * or, where there is a source, a piece of it.
	 */
	struct body request;
	size_t front_bytes;
	size_t total_bytes;
	size_t taken_bytes;  /* by the connection */
	int64_t source_left; /* bytes to come of it, where that is known */
	bool source_done;    /* all of it is in total_bytes */
	bool send_failed;
	struct timer lease_end; /* when nothing more may be sent */

	struct http1_head head;
	struct answer_framing framing;
	bool head_read;
	struct body early; /* bytes that came with it and have no room yet */
	size_t early_at;   /* how much of that was taken */
	struct answer_memory memory;
	bool is_full; /* nothing is read now: it would have no room */
	struct task again; /* more may be there to be read */
};

static void on_timeout(void *arg);
static void on_detached(struct op *op, int error);
static void on_lease_end(void *arg);
static void on_source_fed(void *arg);
static void on_read_again(void *arg);
static void try_connections(struct transfer *t);
static bool send_more(struct transfer *t);
static bool read_answer(struct transfer *t);
static void complete(struct transfer *t, bool surplus);
static void finish(
    struct transfer *t, enum forward_result result, int error);

/* --- it begins --- */

static struct transfer *
take_transfer(struct upstreams *u)
{
	struct transfer *t = u->spare;
	u->pending++;
	if (t != NULL) {
		u->spare = t->next_spare;
		u->n_spare--;
		return t;
	}
	t = mem_zero(sizeof *t);
	t->upstreams = u;
	t->again = (struct task){.run = on_read_again, .arg = t};
	timer_init(&t->timeout, u->loop, on_timeout, t);
	timer_init(&t->lease_end, u->loop, on_lease_end, t);
	t->memory.budget = u->budget;
	timer_init(&t->memory.again, u->loop, on_read_again, t);
	return t;
}

static void
start_timeout(struct transfer *t)
{
	t->active_ms = clock_us() / 1000;
	timer_set_at(&t->timeout, t->active_ms + t->limits.timeout_ms);
}

/*
 * Whether the request logs its whole connection in (RFC 4559, section 6, and
 * NTLM, which it describes): what is sent there next would be the same user's.
 */
static bool
logs_connection_in(const struct fields *fields)
{
	const struct field *field;
	size_t at = 0;
	while ((field = fields_next(fields, SPAN("Authorization"), &at)) !=
	    NULL) {
		struct span left = field->value, scheme = SPAN("");
		(void)!span_next(&left, ' ', &scheme);
		if (span_ieq(scheme, SPAN("Negotiate")) ||
		    span_ieq(scheme, SPAN("NTLM")))
			return true;
	}
	return false;
}

void
forward_start(struct upstreams *upstreams, struct forward *forward,
    const struct conf_upstream *upstream, const struct message *message,
    const struct forward_limits *limits)
{
	must(forward->transfer == NULL && forward->head == NULL);
	must(upstream == &upstreams->list[upstream->index]);
	struct transfer *t = take_transfer(upstreams);
	forward->transfer = t;
	forward->result = FORWARD_NOT_SENT;
	forward->sent_bytes = 0;
	forward->target = NULL;
	forward->status = 0;
	forward->fields = (struct fields){0};
	forward->rest = NULL;
	forward->rest_length = -1;
	forward->head_length = -1;
	forward->body = (struct body){.budget = upstreams->budget};
	t->forward = forward;
	t->message = *message;
	t->limits = *limits;
	t->limits.reuse &= !logs_connection_in(&message->fields);
	if (t->limits.timeout_ms <= 0)
		t->limits.timeout_ms = upstream->timeout_ms;
	t->upstream = upstream;
	t->target = NULL;
	t->connecting = false;
	t->error = E_UNREACHABLE;
	if (message->source != NULL)
		flow_by(&message->source->reader, on_source_fed, t);
	target_round_begin(&t->round, &upstreams->targets[upstream->index]);
	op_start(&forward->op, limits->streams ? 0 : t->limits.timeout_ms,
	    on_detached);
	if (limits->streams) {
		start_timeout(t);
		/* For the answer; a request without a body always gets it. */
		int error = body_reserve(&forward->body, FLOW_LEAST_BYTES,
		    message->has_body ? BUDGET_COMMON : BUDGET_GRANTED);
		if (error != 0) {
			finish(t, FORWARD_NOT_SENT, E_NO_MEMORY);
			return;
		}
	}
	try_connections(t);
}

/* --- until when it may be sent --- */

/* The loop's clock would stand still while the process does. */
static int64_t
lease_left_us(const struct transfer *t)
{
	const int64_t *until_us = t->limits.send_until_us;
	return until_us != NULL ? *until_us - clock_us() : INT64_MAX;
}

/* True where nothing was sent yet, and the time for that is over. */
static bool
is_too_late(const struct transfer *t)
{
	return INVARIANT(sent_in_lease) && t->forward->sent_bytes == 0 &&
	    lease_left_us(t) <= 0;
}

static void
watch_lease(struct transfer *t)
{
	int64_t left_us = lease_left_us(t);
	if (left_us != INT64_MAX)
		timer_set(&t->lease_end, (left_us + 999) / 1000);
}

/* True where no part of it, here or in the kernel, could still go out. */
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

/*
 * Resets the connection of a request that is given up while a part of it is
 * still to go out: the kernel drops that too, and the other side sees a reset.
 */
static void
abandon(struct transfer *t)
{
	if (t->connection != NULL && !t->connecting &&
	    t->forward->sent_bytes > 0 && !sends_no_more(t))
		connection_reset(t->connection);
}

static void
on_lease_end(void *arg)
{
	struct transfer *t = arg;
	bool sent = t->forward->sent_bytes > 0;
	if (lease_left_us(t) > 0) {
		/* It was renewed meanwhile. */
		watch_lease(t);
	} else if (!sends_no_more(t) && INVARIANT(cut_at_lease)) {
		abandon(t);
		finish(t, sent ? FORWARD_BROKEN : FORWARD_NOT_SENT,
		    sent ? E_LEASE_CUT : E_LEASE_OVER);
	}
}

/* --- it finds a connection --- */

/* Writes the head for the target, and as much of the body as goes with it. */
static int
write_request(struct transfer *t)
{
	const struct message *m = &t->message;
	const struct conf_target *target = t->target->conf;
	bool preserve =
	    t->upstream->host == HOST_PRESERVE && m->authority.len > 0;
	const struct http1_request request = {
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
	int error = http1_head_write(&request, &t->request);
	if (error != 0)
		return error;
	t->source_left = m->length;
	t->source_done = false;
	t->total_bytes = t->request.len + m->body.len;
	t->front_bytes = m->body.len < FRONT_BYTES ? m->body.len : FRONT_BYTES;
	must(body_append(&t->request, m->body.ptr, t->front_bytes) == 0);
	return 0;
}

/* Closes an idle connection: a new one can have its descriptor. */
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
 * The connection has taken nothing and is given up; error says why.  True where
 * another one, or another target, is to be tried; else the forward has ended.
 */
static bool
may_try_again(struct transfer *t, int error)
{
	connection_close(&t->connection);
	timer_clear(&t->lease_end);
	if (is_too_late(t)) {
		finish(t, FORWARD_NOT_SENT, E_LEASE_OVER);
		return false;
	}
	if (error == E_DESCRIPTORS && !make_room(t->upstreams)) {
		finish(t, FORWARD_NOT_SENT, error);
		return false;
	}
	/*
	 * An idle connection that failed says nothing about its target, and
	 * neither does one for which we had no descriptor.
	 */
	if (t->fresh && error != E_DESCRIPTORS) {
		target_failed(t->target, loop_now_ms(t->upstreams->loop));
		t->error = error;
		t->target = NULL;
	}
	return true;
}

static void
retry(struct transfer *t, int error)
{
	if (may_try_again(t, error))
		try_connections(t);
}

static void
on_connection_ready(void *arg, unsigned events)
{
	struct transfer *t = arg;
	/* Bytes that come before the first was taken are no answer. */
	if ((events & WATCH_READ) && t->forward->sent_bytes == 0) {
		retry(t, E_CLOSED);
		return;
	}
	if ((events & WATCH_READ) && !read_answer(t))
		return;
	if ((events & WATCH_WRITE) && !send_more(t))
		retry(t, E_CLOSED);
}

/*
 * Sends the request on the transfer's connection, after which the answer is
 * read, perhaps at once.  False where the connection failed before it took a
 * byte: nothing has happened.
 */
static bool
begin_exchange(struct transfer *t)
{
	t->taken_bytes = 0;
	t->send_failed = false;
	t->head_read = false;
	t->is_full = false;
	http1_head_begin(&t->head, t->limits.max_head);
	connection_watch(t->connection, on_connection_ready, t);
	watch_lease(t);
	return send_more(t);
}

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
			if (begin_exchange(t))
				return;
		}
	}
	retry(t, error);
}

/*
 * Finds a connection and begins the exchange on it: an idle one, or a new one,
 * of each target in turn.
 */
static void
try_connections(struct transfer *t)
{
	do {
		must(t->forward->sent_bytes == 0 && t->connection == NULL);
		if (t->target == NULL) {
			t->target = target_round_next(
			    &t->round, loop_now_ms(t->upstreams->loop));
			if (t->target != NULL)
				t->forward->target = t->target->conf;
			int error = t->target ? write_request(t) : t->error;
			if (error != 0) {
				finish(t, FORWARD_NOT_SENT, error);
				return;
			}
		}
		if (t->limits.reuse)
			t->connection = target_take(t->target);
		t->fresh = t->connection == NULL;
		if (t->fresh) {
			t->connecting = true;
			t->connection = connection_open(
			    &t->target->dialler, on_connection_made, t);
			return;
		}
	} while (!begin_exchange(t) && may_try_again(t, E_CLOSED));
}

/* --- it sends the request --- */

/*
 * Puts the next piece of a streamed body where it is sent from, as one chunk
 * where nobody knows the body's length.  False: there is none.
 */
static bool
stage(struct transfer *t)
{
	struct flow *source = t->message.source;
	bool chunked = t->message.length < 0;
	if (source == NULL || t->source_done)
		return false;
	struct span content = flow_look(source);
	if (content.len > STAGE_BYTES)
		content.len = STAGE_BYTES;
	if (!chunked && (int64_t)content.len > t->source_left)
		content.len = (size_t)t->source_left;
	t->request.len = 0;
	if (content.len > 0 && chunked) {
		char size[24];
		int len = snprintf(size, sizeof size, "%zx\r\n", content.len);
		must(body_append(&t->request, size, (size_t)len) == 0);
		must(body_append(&t->request, content.ptr, content.len) == 0);
		must(body_append(&t->request, "\r\n", 2) == 0);
	} else if (content.len > 0) {
		must(body_append(&t->request, content.ptr, content.len) == 0);
		t->source_left -= (int64_t)content.len;
		t->source_done = t->source_left == 0;
	} else if (chunked && source->ended && source->error == 0) {
		must(body_append(&t->request, "0\r\n\r\n", 5) == 0);
		t->source_done = true;
	}
	if (content.len > 0)
		flow_take(source, content.len);
	t->total_bytes += t->request.len;
	return t->request.len > 0;
}

/* Returns the bytes to be sent next, in one piece of stable memory. */
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

/* Watches the connection for all that it waits for. */
static void
update_watch(struct transfer *t)
{
	connection_want(t->connection, !t->is_full,
	    !t->send_failed && t->taken_bytes < t->total_bytes);
}

/*
 * Sends what the connection takes.  False where it failed and has certainly
 * taken nothing, or it is too late to begin.  Where it failed later, an answer
 * may have come all the same, and is read.
 */
static bool
send_more(struct transfer *t)
{
	struct connection *c = t->connection;
	struct forward *forward = t->forward;
	if (is_too_late(t))
		return false;
	while (t->taken_bytes < t->total_bytes || stage(t)) {
		struct span piece = next_piece(t);
		/* The lease has ended: on_lease_end() does the rest. */
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
			if (forward->sent_bytes == 0)
				return false;
			if (t->message.source != NULL)
				flow_close(t->message.source);
			break;
		}
		t->taken_bytes += (size_t)n;
		t->active_ms = loop_now_ms(t->upstreams->loop);
		forward->sent_bytes = t->taken_bytes;
	}
	bool whole = t->taken_bytes == t->total_bytes;
	/* The connection has all of the body: its memory is free for others. */
	if (t->message.spent != NULL && whole)
		body_clear(t->message.spent);
	if (t->is_full && whole)
		task_ready(t->upstreams->loop, &t->again);
	update_watch(t);
	if (t->send_failed)
		read_answer(t);
	return true;
}

/* The source of the body has more, or has ended. */
static void
on_source_fed(void *arg)
{
	struct transfer *t = arg;
	struct flow *source = t->message.source;
	/* The client left, or sent less than it had announced. */
	bool broken = source->ended &&
	    (source->error != 0 ||
		(!t->source_done && t->message.length >= 0 &&
		    (int64_t)flow_look(source).len < t->source_left));
	if (broken) {
		finish(t,
		    t->forward->sent_bytes > 0 ? FORWARD_BROKEN
					       : FORWARD_NOT_SENT,
		    source->error != 0 ? source->error : E_CLIENT_GONE);
		return;
	}
	if (t->connection == NULL || t->connecting || t->send_failed ||
	    t->taken_bytes < t->total_bytes)
		return;
	t->active_ms = loop_now_ms(t->upstreams->loop);
	must(send_more(t));
}

/* --- it reads the answer --- */

/* Gives the whole head to the forward. */
static void
take_answer_head(struct transfer *t)
{
	struct forward *forward = t->forward;
	forward->status = t->head.status;
	forward->head = http1_head_take(&t->head, &forward->fields);
}

/* Counts how long the upstream took to its answer, without its rest. */
static void
measure(const struct transfer *t)
{
	const struct upstreams *u = t->upstreams;
	if (u->took != NULL)
		histogram_add(u->took[t->upstream->index],
		    clock_us() - t->forward->op.began_us);
}

static void
on_rest_drained(void *arg)
{
	struct transfer *t = arg;
	t->active_ms = loop_now_ms(t->upstreams->loop);
	read_answer(t);
}

/* Gives the answer to its owner; the rest of it flows from now on. */
static void
begin_rest(struct transfer *t)
{
	struct upstreams *u = t->upstreams;
	struct forward *forward = t->forward;
	answer_memory_end(&t->memory);
	forward->rest = mem_zero(sizeof *forward->rest);
	forward->rest->loop = u->loop;
	flow_by(&forward->rest->writer, on_rest_drained, t);
	body_move(&forward->rest->body, &forward->body);
	if (t->framing.kind == FRAMING_LENGTH)
		forward->rest_length = t->head.content_length;
	forward->result = FORWARD_ANSWERED;
	take_answer_head(t);
	measure(t);
	if (!t->limits.streams)
		start_timeout(t);
	op_done(&forward->op, 0);
}

static size_t
min_bytes(uint64_t a, uint64_t b)
{
	return (size_t)(a < b ? a : b);
}

/* The answer is not to be kept, for it is too large. */
static bool
is_too_large(const struct transfer *t)
{
	uint64_t left =
	    t->framing.kind == FRAMING_LENGTH ? t->framing.left : 0;
	return t->forward->rest == NULL && !t->limits.streams &&
	    t->forward->body.len + left > t->limits.max_body;
}

/* Makes room for content that is kept whole, up to max_body. */
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
	return known && bytes >= left ? FORWARD_READ_BYTES
				      : min_bytes(bytes, FORWARD_READ_BYTES);
}

/*
 * Returns how many bytes can be read: each of them has a place, in memory or in
 * the flow that it goes to.  The others wait in the kernel, and the upstream
 * waits with them.
 */
static size_t
room(struct transfer *t)
{
	struct forward *forward = t->forward;
	struct body *body = &forward->body;
	if (!t->limits.streams && !t->head_read)
		return budget_has(t->upstreams->budget, FORWARD_READ_BYTES)
		    ? FORWARD_READ_BYTES
		    : HEAD_BYTES;
	if (is_too_large(t)) {
		/*
		 * Its owner ends the attempt with it: nothing of that may still
		 * be on its way.  send_more() goes on with it.
		 */
		if (!t->send_failed && t->taken_bytes < t->total_bytes &&
		    INVARIANT(request_is_whole))
			return 0;
		(void)!body_reserve(body, FLOW_BYTES, BUDGET_SPARE);
		begin_rest(t);
	} else if (forward->rest == NULL && !t->limits.streams) {
		return kept_room(t);
	} else if (forward->rest == NULL) {
		if (body->len < body->size ||
		    (body->size < FLOW_BYTES &&
			body_reserve(body, FLOW_BYTES, BUDGET_SPARE) == 0))
			return body->size - body->len;
		begin_rest(t);
	}
	/* It flows on as soon as the record says that it is not kept. */
	struct flow *rest = forward->rest;
	if (rest->body.size == 0 &&
	    !answer_memory_get(&t->memory, &rest->body, FLOW_LEAST_BYTES,
		FLOW_LEAST_BYTES, true))
		return 0;
	return min_bytes(flow_room(rest), FORWARD_READ_BYTES);
}

/* False where the answer has ended with these bytes, whole or broken. */
static bool
take_content(struct transfer *t, struct span bytes)
{
	struct forward *forward = t->forward;
	struct body *body = &forward->body;
	enum answer_framing_state state;
	do {
		struct span content;
		state = answer_framing_feed(&t->framing, &bytes, &content);
		/* room() was asked before: it has a place. */
		if (content.len > 0 && forward->rest != NULL)
			must(flow_put(forward->rest, content.ptr,
				 content.len) == content.len);
		else if (content.len > 0)
			must(body_append(body, content.ptr, content.len) == 0);
	} while (state == FRAMING_MORE && bytes.len > 0);
	if (state == FRAMING_MALFORMED)
		finish(t, FORWARD_MALFORMED, E_MALFORMED);
	else if (state == FRAMING_END)
		complete(t, bytes.len > 0 || t->early_at < t->early.len);
	return state == FRAMING_MORE;
}

/*
 * Leaves in *bytes those behind the head that have room.  False where the head
 * was the end of the transfer.
 */
static bool
take_head(struct transfer *t, struct span *bytes)
{
	struct forward *forward = t->forward;
	enum http1_head_state state = http1_head_feed(&t->head, bytes);
	if (state == HEAD_MORE)
		return true;
	if (state != HEAD_WHOLE) {
		finish(t, FORWARD_MALFORMED,
		    state == HEAD_TOO_LARGE ? E_TOO_LARGE : E_MALFORMED);
		return false;
	}
	bool to_head = span_eq(t->message.method, SPAN("HEAD"));
	struct answer_framing *framing = &t->framing;
	t->head_read = true;
	answer_framing_begin(framing, &t->head, to_head);
	if (to_head || t->head.status == 304)
		forward->head_length = t->head.content_length;
	if (framing->kind == FRAMING_CLOSE && !t->limits.close_delimited &&
	    INVARIANT(end_is_told)) {
		/* Nobody could tell the whole answer from a part of it. */
		finish(t, FORWARD_MALFORMED, E_NO_LENGTH);
		return false;
	}
	/* Content that came with it and has no room has to wait. */
	bool none = framing->kind == FRAMING_NONE ||
	    (framing->kind == FRAMING_LENGTH && framing->left == 0);
	if (bytes->len > 0 && !none) {
		size_t size = min_bytes(room(t), bytes->len);
		struct span late = span_from(*bytes, size);
		must(body_append(&t->early, late.ptr, late.len) == 0);
		bytes->len = size;
	}
	return true;
}

/*
 * Reads all that has come, and again when it seems to be no more: a watch tells
 * of a reset only once.  False when that was the end of the transfer.
 */
static bool
read_answer(struct transfer *t)
{
	char *buffer = t->upstreams->buffer;
	size_t size;
	for (unsigned i = 0;; i++) {
		if (i == READS_MAX) {
			task_ready(t->upstreams->loop, &t->again);
			return true;
		}
		size = room(t);
		if (size == 0)
			break;
		struct span early =
		    span_from(body_span(&t->early), t->early_at);
		if (early.len > 0) {
			early.len = min_bytes(early.len, size);
			t->early_at += early.len;
			if (!take_content(t, early))
				return false;
			continue;
		}
		ssize_t n = connection_receive(t->connection, buffer, size);
		if (n == IO_AGAIN && !t->send_failed)
			break;
		/*
		 * A failed send has swallowed the error that would tell a reset
		 * from an end, so an end that closes the content must come
		 * without one.
		 */
		if (n == IO_END && !t->send_failed && t->head_read &&
		    (t->framing.kind == FRAMING_CLOSE ||
			!INVARIANT(answer_is_whole))) {
			complete(t, false);
			return false;
		}
		if (n <= 0) {
			finish(t, FORWARD_BROKEN, E_CLOSED);
			return false;
		}
		t->active_ms = loop_now_ms(t->upstreams->loop);
		struct span bytes = span_of(buffer, (size_t)n);
		if (!t->head_read && !take_head(t, &bytes))
			return false;
		if (t->head_read && !take_content(t, bytes))
			return false;
	}
	/* Nothing more has come, or nothing can be read. */
	if (t->limits.streams && t->head_read && t->forward->rest == NULL)
		begin_rest(t);
	t->is_full = size == 0;
	update_watch(t);
	return true;
}

static void
on_read_again(void *arg)
{
	read_answer(arg);
}

/* --- it ends --- */

/* Returns how long the connection may wait for its next request; 0: not. */
static int64_t
reuse_ms(struct transfer *t, bool surplus)
{
	struct connection *c = t->connection;
	struct upstreams *u = t->upstreams;
	if (!t->limits.reuse || surplus || t->send_failed ||
	    (t->taken_bytes < t->total_bytes && INVARIANT(request_is_whole)) ||
	    (!t->head.persistent && INVARIANT(close_is_heard)) ||
	    (t->message.source != NULL && !t->source_done) ||
	    (t->framing.kind == FRAMING_NONE &&
		(t->head.chunked || t->head.content_length > 0) &&
		INVARIANT(announced_comes)) ||
	    t->framing.kind == FRAMING_CLOSE)
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
	/* TLS may hold bytes that came and that it has not given yet. */
	if (c->tls && connection_receive(c, u->buffer, 1) != IO_AGAIN)
		return 0;
	int64_t ms = c->made_ms + t->upstream->max_age_ms -
	    loop_now_ms(u->loop);
	if (t->upstream->max_idle_ms < ms)
		ms = t->upstream->max_idle_ms;
	if (t->head.keep_alive_s >= 0 &&
	    1000 * (t->head.keep_alive_s - 1) < ms)
		ms = 1000 * (t->head.keep_alive_s - 1);
	return ms > 0 ? ms : 0;
}

/* Ends it with a whole answer; surplus: something has come behind that. */
static void
complete(struct transfer *t, bool surplus)
{
	int64_t ms = reuse_ms(t, surplus);
	if (is_too_large(t))
		begin_rest(t);
	/* What the kernel has of it is a part of it for ever. */
	if (t->taken_bytes < t->total_bytes && INVARIANT(request_is_whole))
		abandon(t);
	if (!t->limits.streams)
		body_trim(&t->forward->body);
	if (ms > 0)
		target_keep(t->target, &t->connection, ms);
	finish(t, FORWARD_ANSWERED, 0);
}

static void
free_transfer(struct transfer *t)
{
	free(t->round.tried);
	body_clear(&t->request);
	body_clear(&t->early);
	http1_head_free(&t->head);
	free(t);
}

/* Takes the transfer from its forward, and closes its connection. */
static void
release_transfer(struct transfer *t)
{
	struct upstreams *u = t->upstreams;
	if (t->forward->rest == NULL)
		measure(t);
	connection_close(&t->connection);
	task_cancel(&t->again);
	timer_clear(&t->timeout);
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
		free_transfer(t);
		return;
	}
	t->next_spare = u->spare;
	u->spare = t;
	u->n_spare++;
}

/* Ends a forward with its result, or the rest that is still to come of it. */
static void
finish(struct transfer *t, enum forward_result result, int error)
{
	struct forward *forward = t->forward;
	if (forward->rest != NULL) {
		release_transfer(t);
		flow_end(forward->rest, error);
		return;
	}
	if (result == FORWARD_ANSWERED || result == FORWARD_UNREAD)
		take_answer_head(t);
	if (result != FORWARD_ANSWERED)
		body_clear(&forward->body);
	forward->result = result;
	release_transfer(t);
	op_done(&forward->op, error);
}

/* The time is up in which nothing was sent or read, though it could be. */
static void
on_timeout(void *arg)
{
	struct transfer *t = arg;
	int64_t now_ms = loop_now_ms(t->upstreams->loop);
	bool connected = t->connection != NULL && !t->connecting;
	bool for_reader = t->is_full && !t->memory.waits;
	bool for_source = t->message.source != NULL && !t->source_done &&
	    !t->send_failed && t->taken_bytes == t->total_bytes;
	/* A wait for the other side of a flow does not count. */
	if (connected && (for_reader || for_source))
		t->active_ms = now_ms;
	int64_t end_ms = t->active_ms + t->limits.timeout_ms;
	/* Even if it is over by now: what came lately is read before. */
	if (end_ms > t->timeout.at_ms) {
		timer_set_at(&t->timeout, end_ms);
		return;
	}
	if (t->connecting)
		target_failed(t->target, now_ms);
	abandon(t);
	finish(t,
	    t->forward->sent_bytes > 0 ? FORWARD_TIMEOUT : FORWARD_NOT_SENT,
	    E_TIMEOUT);
}

/* The time is up (the operation ends by itself), or the owner gives up. */
static void
on_detached(struct op *op, int error)
{
	struct forward *forward = CONTAINER_OF(op, struct forward, op);
	struct transfer *t = forward->transfer;
	/* The head is in, and what follows waits for memory. */
	bool unread = t->head_read && t->memory.waits && forward->rest == NULL;
	if (error == E_TIMEOUT && unread && INVARIANT(status_counts)) {
		finish(t, FORWARD_UNREAD, E_NO_MEMORY);
		return;
	}
	abandon(t);
	if (error == E_TIMEOUT && t->connecting)
		target_failed(t->target, loop_now_ms(t->upstreams->loop));
	forward->result = forward->sent_bytes > 0 && INVARIANT(late_is_unknown)
	    ? FORWARD_TIMEOUT
	    : FORWARD_NOT_SENT;
	body_clear(&forward->body);
	release_transfer(t);
}

void
forward_free_spare(struct upstreams *upstreams)
{
	while (upstreams->spare != NULL) {
		struct transfer *t = upstreams->spare;
		upstreams->spare = t->next_spare;
		free_transfer(t);
	}
}

/* --- its owner --- */

void
forward_stop(struct forward *forward)
{
	op_cancel(&forward->op);
	struct transfer *t = forward->transfer;
	if (t != NULL)
		finish(t, forward->result, E_CANCELLED);
}

void
forward_move(struct forward *to, struct forward *from)
{
	must(to->transfer == NULL && to->head == NULL);
	must(from->op.state == OP_DONE && from->body.ptr == NULL);
	struct op op = to->op;
	*to = *from;
	to->op = op;
	if (to->transfer != NULL) {
		to->transfer->forward = to;
		/* All of the request is out, and its lease's owner leaves. */
		to->transfer->limits.send_until_us = NULL;
		timer_clear(&to->transfer->lease_end);
	}
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
