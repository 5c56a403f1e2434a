/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "http/deadline_private.h"
#include "http/front_private.h"
#include "http/idle_private.h"
#include "http/reply.h"

enum {
	/*
	 * A body that nobody wants is read to its end up to this length, so
	 * that a client still sending it reads our answer and not a reset.
	 */
	SWALLOW_BYTES = 16 * 1024 * 1024,
};

/* --- one exchange --- */

static struct exchange *
exchange_new(struct front *front, const char *target)
{
	struct arena *arena = arena_new();
	struct exchange *x = arena_alloc(arena, sizeof *x);
	x->arena = arena;
	x->front = front;
	x->target = arena_dup(arena, span_str(target));
	x->content_length = -1;
	body_init(&x->body, front->budget);
	return x;
}

/* It lives until both sides, the owner and libmicrohttpd, let go of it. */
static void
exchange_free(struct exchange *x)
{
	if (!x->ended || x->mhd != NULL)
		return;
	if (x->reply != NULL)
		MHD_destroy_response((struct MHD_Response *)x->reply);
	body_clear(&x->body);
	struct arena *arena = x->arena;
	arena_free(&arena);
}

/* --- waiting and answering --- */

void
exchange_hold(struct exchange *x)
{
	must(!x->suspended);
	MHD_suspend_connection(x->mhd);
	x->suspended = true;
	connection_of(x->mhd)->was_held = true;
}

void
exchange_resume(struct exchange *x)
{
	if (!x->suspended)
		return;
	x->suspended = false;
	MHD_resume_connection(x->mhd);
	x->front->dirty = true;
}

/* Gives the reply to libmicrohttpd, which is in a state that takes one. */
static void
queue(struct exchange *x)
{
	struct MHD_Response *response = (struct MHD_Response *)x->reply;
	x->reply = NULL;
	x->queued = true;
	x->front->dirty = true;
	deadline_answer(connection_of(x->mhd));
	enum MHD_Result ok =
	    MHD_queue_response(x->mhd, x->reply_status, response);
	must(ok == MHD_YES);
	MHD_destroy_response(response);
}

/* The verb that waits has its end; nothing happens where none does. */
static void
end_verb(struct exchange *x, enum exchange_doing doing, int error)
{
	if (x->doing != doing)
		return;
	x->doing = EXCHANGE_IDLE;
	op_done(&x->op, error);
}

void
exchange_answered(struct exchange *x)
{
	end_verb(x, EXCHANGE_ANSWERING, 0);
}

/* The owner gave up: what was queued goes out all the same. */
static void
detach(struct op *op, int error)
{
	(void)error;
	char *x = (char *)op - offsetof(struct exchange, op);
	((struct exchange *)(void *)x)->doing = EXCHANGE_IDLE;
}

static void
begin_verb(struct exchange *x, enum exchange_doing doing)
{
	must(x->doing == EXCHANGE_IDLE && !x->ended);
	x->doing = doing;
	op_start(&x->op, 0, detach);
}

/* --- libmicrohttpd's calls --- */

/* The owner wants to have the body; else its answer is on the way. */
static bool
is_wanted(struct exchange *x)
{
	return x->up != NULL ? flow_is_wanted(x->up)
			     : x->doing == EXCHANGE_READING;
}

/* The head is in; the owner may answer at once, before any of the body. */
static enum MHD_Result
on_head(struct exchange *x, const char *method, const char *version)
{
	x->head_seen = true;
	idle_not(connection_of(x->mhd));
	idle_learn(connection_of(x->mhd), method);
	deadline_none(connection_of(x->mhd));
	head_copy(x, method, version);
	if (x->expects_continue && !x->has_body)
		head_hide_expectation(x);
	if (x->has_body)
		deadline_body(connection_of(x->mhd));
	x->front->arrived(x->front->arg, x);
	if (x->reply == NULL && x->expects_continue && !x->ended &&
	    !is_wanted(x)) {
		x->in_head = true;
		exchange_hold(x);
	}
	if (x->reply == NULL || !x->has_body)
		return MHD_YES;
	/*
	 * Answered although a body is announced.  A client that waits for a
	 * 100 sends none after this, and where nobody knows how long the
	 * body is the connection ends; else it is swallowed first.
	 */
	if (x->at_once || x->expects_continue ||
	    x->content_length > SWALLOW_BYTES)
		queue(x);
	return MHD_YES;
}

static enum MHD_Result
on_data(struct exchange *x, const char *data, size_t *len)
{
	if (x->up != NULL)
		return stream_data(x, data, len);
	x->body_bytes += *len;
	if (x->doing == EXCHANGE_READING) {
		int error = 0;
		if (*len > x->read_limit - x->body.len)
			error = E_TOO_LARGE;
		else
			error = body_append(&x->body, data, *len);
		if (error != 0) {
			body_clear(&x->body);
			end_verb(x, EXCHANGE_READING, error);
		}
	}
	if (x->doing != EXCHANGE_READING) {
		x->swallowed += *len;
		if (x->swallowed > SWALLOW_BYTES)
			return MHD_NO;
	}
	*len = 0;
	return MHD_YES;
}

/*
 * The whole request is in: what can be said now is said.  Else it waits for
 * its owner from the second call on.  Held in the first one, libmicrohttpd
 * would read when it is resumed, before it looks at what is queued, and would
 * close where the client has closed its half behind the request.
 */
static enum MHD_Result
on_end(struct exchange *x)
{
	bool first = !x->body_ended;
	x->body_ended = true;
	deadline_none(connection_of(x->mhd));
	if (first) {
		stream_end(x, 0);
		end_verb(x, EXCHANGE_READING, 0);
	}
	if (x->reply != NULL)
		queue(x);
	else if (!x->queued && !first)
		exchange_hold(x);
	return MHD_YES;
}

enum MHD_Result
exchange_on_request(void *front, struct MHD_Connection *mhd, const char *url,
    const char *method, const char *version, const char *data, size_t *len,
    void **context)
{
	struct exchange *x = *context;
	(void)front;
	(void)url;
	must(x != NULL);
	if (x->beside != NULL)
		return beside_on_request(x, data, len);
	if (x->ended)
		return MHD_NO; /* its owner gave it up without an answer */
	x->mhd = mhd;
	if (!x->head_seen && x->front->ending)
		return MHD_NO; /* its owner would outlive the front */
	if (!x->head_seen)
		return on_head(x, method, version);
	if (x->queued)
		return MHD_YES;
	if (x->in_head) {
		/* The call of the head once more: the body is wanted. */
		x->in_head = false;
		return MHD_YES;
	}
	return *len > 0 ? on_data(x, data, len) : on_end(x);
}

/*
 * The first that is heard of a request: its target before libmicrohttpd
 * decodes it.  What is returned is the context of the other calls.
 */
void *
exchange_on_target(void *front, const char *target, struct MHD_Connection *mhd)
{
	struct exchange *x = exchange_new(front, target);
	if (x->front->checks_gaps)
		head_hide_query(target);
	x->mhd = mhd;
	deadline_head(connection_of(mhd), x);
	return x;
}

/* The answer is out, or the connection is gone; the last call. */
void
exchange_on_completed(void *front, struct MHD_Connection *mhd, void **context,
    enum MHD_RequestTerminationCode code)
{
	struct exchange *x = *context;
	(void)front;
	if (x == NULL)
		return;
	*context = NULL;
	watch_free(&x->client_watch);
	stream_end(x, E_CLIENT_GONE);
	bool sent = beside_is_sent(x) ||
	    (code == MHD_REQUEST_TERMINATED_COMPLETED_OK && x->queued);
	beside_free(x);
	x->mhd = NULL;
	if (!x->head_seen)
		x->ended = true; /* nobody was told of it */
	deadline_idle(connection_of(mhd));
	idle_not(connection_of(mhd));
	x->gone = !sent;
	end_verb(x, EXCHANGE_READING, E_CLIENT_GONE);
	end_verb(x, EXCHANGE_ANSWERING, sent ? 0 : E_CLIENT_GONE);
	exchange_free(x);
}

/* --- the verbs --- */

void
front_read_body(struct exchange *x, size_t max_bytes)
{
	must(!x->body_ended);
	begin_verb(x, EXCHANGE_READING);
	x->read_limit = max_bytes;
	size_t length = x->content_length > 0 ? (size_t)x->content_length : 0;
	if (x->mhd == NULL)
		end_verb(x, EXCHANGE_READING, E_CLIENT_GONE);
	else if (length > max_bytes)
		end_verb(x, EXCHANGE_READING, E_TOO_LARGE);
	else if (body_reserve(&x->body, length) != 0)
		end_verb(x, EXCHANGE_READING, E_NO_MEMORY);
}

/* An answer that cannot be put into a head says so, and nothing else. */
static void
give(struct exchange *x, int status, struct MHD_Response *response)
{
	x->reply_status = (unsigned)status;
	if (response == NULL) {
		x->reply_status = MHD_HTTP_INTERNAL_SERVER_ERROR;
		x->sent_bytes = 0;
		response = MHD_create_response_from_buffer(
		    0, NULL, MHD_RESPMEM_PERSISTENT);
		must(response != NULL);
	}
	x->reply = (struct reply *)response;
	/* In the middle of a body libmicrohttpd takes no answer. */
	if (x->suspended && (x->body_ended || x->in_head))
		queue(x);
	exchange_resume(x);
}

/* False: there is nobody to be answered. */
static bool
begin_answer(struct exchange *x, bool close)
{
	must(x->reply == NULL && !x->queued && x->beside == NULL);
	begin_verb(x, EXCHANGE_ANSWERING);
	x->at_once = close;
	if (x->mhd == NULL)
		end_verb(x, EXCHANGE_ANSWERING, E_CLIENT_GONE);
	return x->mhd != NULL;
}

void
front_answer(struct exchange *x, struct answer *answer,
    const struct fields *more, bool close)
{
	if (!begin_answer(x, close))
		return;
	bool head = span_eq(x->method, SPAN("HEAD"));
	x->sent_bytes = head ? 0 : answer->body.len;
	if (beside_is_due(x)) {
		beside_new(x, answer, more, 0);
		return;
	}
	give(x, answer->status,
	    reply_new(answer, more, head, close || x->front->draining));
}

void
front_answer_flow(struct exchange *x, struct answer *answer,
    const struct fields *more, struct flow *flow, int64_t length, bool close)
{
	if (!begin_answer(x, close))
		return;
	stream_from(x, flow);
	x->end_is_close =
	    length < 0 && span_eq(x->version, SPAN("HTTP/1.0"));
	if (beside_is_due(x)) {
		beside_new(x, answer, more, length);
		return;
	}
	give(x, answer->status,
	    reply_streamed(answer, more, length, stream_read, x,
		close || x->front->draining));
}

static void
on_client_hang_up(void *arg, unsigned events)
{
	struct exchange *x = arg;
	void (*left)(void *) = x->client_left;
	void *left_arg = x->client_left_arg;
	(void)events;
	front_watch_client(x, NULL, NULL);
	left(left_arg);
}

void
front_watch_client(struct exchange *x, void (*left)(void *arg), void *arg)
{
	watch_free(&x->client_watch);
	x->client_left = left;
	x->client_left_arg = arg;
	if (left == NULL || x->mhd == NULL)
		return;
	x->client_watch = watch_new(x->front->loop,
	    connection_of(x->mhd)->fd, on_client_hang_up, x);
	watch_want(x->client_watch, WATCH_HANG_UP);
}

void
front_end(struct exchange **x)
{
	struct exchange *old = *x;
	*x = NULL;
	front_watch_client(old, NULL, NULL);
	beside_leave(old);
	stream_detach(old);
	op_cancel(&old->op);
	old->ended = true;
	exchange_resume(old);
	exchange_free(old);
}
