/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/loop/flow.h"

void
flow_clear(struct flow *flow)
{
	task_cancel(&flow->reader);
	task_cancel(&flow->writer);
	body_clear(&flow->body);
	flow->at = 0;
}

/* --- who waits --- */

void
flow_by(struct task *side, void (*run)(void *arg), void *arg)
{
	task_cancel(side);
	*side = (struct task){.run = run, .arg = arg};
}

/* Calls a side, if it waits. */
static void
call(struct flow *flow, struct task *side, bool *waits)
{
	if (*waits && side->run != NULL)
		task_ready(flow->loop, side);
	*waits = false;
}

/* --- the writer's side --- */

static size_t
held_bytes(const struct flow *flow)
{
	return flow->body.len - flow->at;
}

/* Beyond its first memory it takes only what others do not need to begin. */
static int
grow_body(struct body *body, size_t bytes)
{
	return body_reserve(
	    body, bytes, body->size == 0 ? BUDGET_COMMON : BUDGET_SPARE);
}

size_t
flow_room(struct flow *flow)
{
	must(!flow->ended);
	struct body *body = &flow->body;
	/* Its memory was full: with more of it, it goes faster. */
	if (body->len == body->size && body->size < FLOW_BYTES)
		(void)!grow_body(body, FLOW_BYTES);
	size_t most = body->size < FLOW_BYTES ? body->size : FLOW_BYTES;
	if (held_bytes(flow) >= most) {
		flow->writer_waits = true;
		return 0;
	}
	return most - held_bytes(flow);
}

size_t
flow_put(struct flow *flow, const char *bytes, size_t len)
{
	must(!flow->ended);
	struct body *body = &flow->body;
	if (flow->closed || len == 0)
		return len;
	if (len > body->size - body->len && flow->at > 0) {
		/* What was not taken moves to the front. */
		body->len -= flow->at;
		memmove(body->ptr, body->ptr + flow->at, body->len);
		flow->at = 0;
	}
	size_t room = body->size - body->len;
	/* When the budget is used up, as much as fits is still taken. */
	size_t taken =
	    len <= room || grow_body(body, body->len + len) == 0 ? len : room;
	if (taken == 0)
		return 0;
	must(body_append(body, bytes, taken) == 0);
	call(flow, &flow->reader, &flow->reader_waits);
	return taken;
}

bool
flow_is_wanted(struct flow *flow)
{
	if (!flow->reader_waits)
		flow->writer_waits = true;
	return flow->reader_waits;
}

void
flow_end(struct flow *flow, int error)
{
	must(!flow->ended);
	flow->ended = true;
	flow->error = error;
	flow->writer_waits = false;
	task_cancel(&flow->writer);
	flow->reader_waits = !flow->closed;
	call(flow, &flow->reader, &flow->reader_waits);
}

/* --- the reader's side --- */

struct span
flow_look(struct flow *flow)
{
	if (held_bytes(flow) == 0 && !flow->ended) {
		flow->reader_waits = true;
		call(flow, &flow->writer, &flow->writer_waits);
	}
	return span_from(body_span(&flow->body), flow->at);
}

void
flow_take(struct flow *flow, size_t len)
{
	must(len <= held_bytes(flow));
	flow->at += len;
	if (held_bytes(flow) == 0)
		flow->at = flow->body.len = 0;
	/* The writer is not called for every few bytes. */
	if (held_bytes(flow) <= FLOW_LEAST_BYTES / 2)
		call(flow, &flow->writer, &flow->writer_waits);
}

void
flow_close(struct flow *flow)
{
	if (flow->closed)
		return;
	flow->closed = true;
	flow->at = flow->body.len = 0;
	flow->reader_waits = false;
	task_cancel(&flow->reader);
	call(flow, &flow->writer, &flow->writer_waits);
}
