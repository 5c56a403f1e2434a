/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "http/front/client_connection_private.h"
#include "http/front/deadline_private.h"
#include "http/front/early_response_private.h"
#include "http/front/exchange_private.h"
#include "http/front/exchange_stream_private.h"
#include "http/front/front_private.h"
#include "http/front/head_copy_private.h"
#include "http/front/reply.h"
#include "http/front/spin_private.h"

static void on_now(void *exchange);

/* --- one exchange --- */

static struct mhd_exchange *
exchange_new(struct front *front)
{
	struct arena *arena = arena_new();
	struct mhd_exchange *x = arena_alloc(arena, sizeof *x);
	x->shown.arena = arena;
	x->front = front;
	x->content_length = -1;
	task_init(&x->now, on_now, x);
	body_init(&x->shown.body, front->budget);
	return x;
}

/* It lives until both sides, the owner and libmicrohttpd, let go of it. */
static void
exchange_free(struct mhd_exchange *x)
{
	if (!x->ended || x->mhd != NULL)
		return;
	if (x->reply != NULL)
		MHD_destroy_response(x->reply);
	task_cancel(&x->now);
	answer_unref(&x->kept);
	body_clear(&x->shown.body);
	struct arena *arena = x->shown.arena;
	arena_free(&arena);
}

/* --- waiting and answering --- */

void
exchange_hold(struct mhd_exchange *x)
{
	client_connection_hold(x->connection, HELD_BY_EXCHANGE);
	x->connection->was_held = true;
	x->suspended = true;
}

void
exchange_resume(struct mhd_exchange *x)
{
	if (!x->suspended)
		return;
	x->suspended = false;
	client_connection_release(x->connection, HELD_BY_EXCHANGE);
}

static void
on_hang_up(void *arg, unsigned events)
{
	struct mhd_exchange *x = arg;
	void (*hung_up)(struct mhd_exchange *) = x->on_hang_up;
	(void)events;
	exchange_watch(x, NULL);
	hung_up(x);
}

void
exchange_watch(
    struct mhd_exchange *x, void (*hung_up)(struct mhd_exchange *x))
{
	watch_free(&x->hang_up);
	x->on_hang_up = hung_up;
	if (hung_up == NULL || x->mhd == NULL)
		return;
	x->hang_up = watch_new(x->front->loop,
	    x->connection->fd, on_hang_up, x);
	watch_want(x->hang_up, WATCH_HANG_UP);
}

/* Gives the reply to libmicrohttpd, which is in a state that takes one. */
static void
queue(struct mhd_exchange *x)
{
	struct MHD_Response *response = x->reply;
	x->reply = NULL;
	x->queued = true;
	x->front->dirty = true;
	deadline_answer(x->connection);
	must(MHD_queue_response(x->mhd, x->reply_status, response) ==
	    MHD_YES);
	MHD_destroy_response(response);
}

/* Ends what the owner waits for, if it is that. */
static void
end_call(struct mhd_exchange *x, enum exchange_doing doing, int error)
{
	if (x->doing != doing)
		return;
	x->doing = EXCHANGE_IDLE;
	op_done(&x->shown.op, error);
}

void
exchange_answered(struct mhd_exchange *x)
{
	end_call(x, EXCHANGE_ANSWERING, 0);
}

/* The owner gave up: what was queued goes out all the same. */
static void
detach_owner(struct op *op, int error)
{
	struct mhd_exchange *x =
	    CONTAINER_OF(op, struct mhd_exchange, shown.op);
	(void)error;
	x->doing = EXCHANGE_IDLE;
}

static void
begin_call(struct mhd_exchange *x, enum exchange_doing doing)
{
	must(x->doing == EXCHANGE_IDLE && !x->ended);
	x->doing = doing;
	op_start(&x->shown.op, OP_UNTIMED, detach_owner);
}

/* --- libmicrohttpd's calls --- */

/* The owner wants to have the body; else its answer is on the way. */
static bool
is_wanted(struct mhd_exchange *x)
{
	return x->up != NULL ? flow_is_wanted(x->up)
			     : x->doing == EXCHANGE_READING;
}

/* The head is in; the owner may answer at once, before any of the body. */
static enum MHD_Result
on_head(struct mhd_exchange *x, const char *method, const char *version)
{
	x->head_seen = true;
	deadline_none(x->connection);
	head_copy(x, method, version);
	if (x->shown.has_body)
		deadline_body(x->connection);
	x->in_head = x->expects_continue;
	x->front->arrived(x->front->arg, &x->shown);
	x->in_head = x->in_head && !x->ended && !is_wanted(x);
	if (x->in_head && !x->suspended && !x->connection->over)
		exchange_hold(x);
	return MHD_YES;
}

/* Now the body is wanted, unless what was read of it meanwhile is wrong. */
static enum MHD_Result
on_head_again(struct mhd_exchange *x)
{
	x->in_head = client_connection_is_spoiled(x->connection);
	if (x->in_head)
		exchange_hold(x);
	return MHD_YES;
}

static enum MHD_Result
on_data(struct mhd_exchange *x, const char *data, size_t *len)
{
	if (x->up != NULL)
		return exchange_stream_data(x, data, len);
	x->shown.body_bytes += *len;
	if (x->doing == EXCHANGE_READING) {
		int error = 0;
		if (*len > x->read_limit - x->shown.body.len)
			error = E_TOO_LARGE;
		else
			error = body_append_within(
			    &x->shown.body, data, *len, x->read_limit);
		if (error != 0) {
			body_clear(&x->shown.body);
			end_call(x, EXCHANGE_READING, error);
		}
	}
	*len = 0;
	if (x->half_closed || x->kept != NULL)
		task_ready(x->front->loop, &x->now);
	return MHD_YES;
}

/* An answer that cannot be put into a head says so, and nothing else. */
static void
give(struct mhd_exchange *x, int status, struct MHD_Response *response)
{
	x->reply_status = (unsigned)status;
	if (response == NULL) {
		x->reply_status = MHD_HTTP_INTERNAL_SERVER_ERROR;
		x->shown.sent_bytes = 0;
		response = MHD_create_response_from_buffer(
		    0, NULL, MHD_RESPMEM_PERSISTENT);
		must(response != NULL &&
		    MHD_add_response_header(
			response, "Connection", "close") == MHD_YES);
	}
	x->reply = response;
	if (x->suspended && (x->shown.body_ended || x->in_head))
		queue(x);
	exchange_resume(x);
}

/* The body that it waited for is in. */
static void
give_kept(struct mhd_exchange *x)
{
	struct answer *answer = x->kept;
	x->kept = NULL;
	give(x, answer->status,
	    reply_new(answer, &x->kept_more,
		span_eq(x->shown.head.method, SPAN("HEAD")),
		x->close || x->front->draining));
	answer_unref(&answer);
}

/*
 * The whole request is in: what can be said now is said.  Else it waits for
 * its owner from the second call on.  Held in the first one, libmicrohttpd
 * would read when it is resumed, before it looks at what is queued, and would
 * close where the client has closed its half behind the request.
 */
static enum MHD_Result
on_end(struct mhd_exchange *x)
{
	bool first = !x->shown.body_ended;
	x->shown.body_ended = true;
	deadline_none(x->connection);
	if (first) {
		exchange_watch(x, NULL);
		exchange_stream_end(x, 0);
		end_call(x, EXCHANGE_READING, 0);
	}
	if (x->kept != NULL)
		give_kept(x);
	if (x->reply != NULL)
		queue(x);
	else if (!x->queued && x->early == NULL && !first)
		exchange_hold(x);
	return MHD_YES;
}

enum MHD_Result
exchange_on_request(void *front, struct MHD_Connection *mhd, const char *url,
    const char *method, const char *version, const char *data, size_t *len,
    void **context)
{
	struct mhd_exchange *x = *context;
	(void)front;
	(void)url;
	must(x != NULL);
	if (x->early != NULL)
		return early_response_on_request(x, data, len);
	if (x->ended)
		return MHD_NO; /* its owner gave it up without an answer */
	x->mhd = mhd;
	/* Its owner would outlive a front that ends. */
	if (!x->head_seen)
		return x->front->ending ? MHD_NO : on_head(x, method, version);
	if (x->queued)
		return MHD_YES;
	if (x->in_head)
		return on_head_again(x);
	return *len > 0 ? on_data(x, data, len) : on_end(x);
}

/*
 * The first that is heard of a request: its first line is in.  What is returned
 * is the context of the other calls.
 */
void *
exchange_on_line(void *front, const char *target, struct MHD_Connection *mhd)
{
	struct mhd_exchange *x = exchange_new(front);
	(void)target;
	x->mhd = mhd;
	x->connection = client_connection_of(mhd);
	client_connection_asks(x->connection);
	deadline_head(x->connection, x);
	return x;
}

/* The answer is out, or the connection is gone; the last call. */
void
exchange_on_completed(void *front, struct MHD_Connection *mhd, void **context,
    enum MHD_RequestTerminationCode code)
{
	struct mhd_exchange *x = *context;
	(void)front;
	if (x == NULL)
		return;
	*context = NULL;
	struct client_connection *connection = client_connection_of(mhd);
	spin_moved(connection);
	watch_free(&x->hang_up);
	exchange_stream_end(x, E_CLIENT_GONE);
	bool sent = early_response_is_sent(x) ||
	    (code == MHD_REQUEST_TERMINATED_COMPLETED_OK && x->queued);
	early_response_free(x);
	task_cancel(&x->now);
	answer_unref(&x->kept);
	x->mhd = NULL;
	if (!x->head_seen)
		x->ended = true; /* nobody was told of it */
	deadline_idle(connection);
	x->shown.gone = !sent;
	end_call(x, EXCHANGE_READING, E_CLIENT_GONE);
	end_call(x, EXCHANGE_ANSWERING, sent ? 0 : E_CLIENT_GONE);
	exchange_free(x);
}

void
exchange_spoil(struct mhd_exchange *x)
{
	if (x->shown.body_ended)
		return;
	exchange_stream_end(x, E_MALFORMED);
	end_call(x, EXCHANGE_READING, E_MALFORMED);
	if (x->kept != NULL)
		task_ready(x->front->loop, &x->now);
}

/* --- what the owner does --- */

void
exchange_read_body(struct exchange *shown, size_t max_bytes)
{
	struct mhd_exchange *x = exchange_of(shown);
	must(!x->shown.body_ended);
	begin_call(x, EXCHANGE_READING);
	size_t length = x->content_length > 0 ? (size_t)x->content_length : 0;
	/* What is announced is no more than a limit: room comes with bytes. */
	x->read_limit = length > 0 ? length : max_bytes;
	if (x->mhd == NULL)
		end_call(x, EXCHANGE_READING, E_CLIENT_GONE);
	else if (length > max_bytes)
		end_call(x, EXCHANGE_READING, E_TOO_LARGE);
	else if (length > budget_limit(x->front->budget))
		end_call(x, EXCHANGE_READING, E_NO_MEMORY);
	else if (x->shown.has_body)
		task_ready(x->front->loop, &x->now);
}

void
exchange_stream_body(struct exchange *shown, struct flow *flow)
{
	struct mhd_exchange *x = exchange_of(shown);
	must(!x->shown.body_ended && x->doing == EXCHANGE_IDLE);
	exchange_stream_to(x, flow);
}

/* False: there is nobody to be answered. */
static bool
begin_answer(struct mhd_exchange *x, bool close)
{
	must(x->reply == NULL && x->kept == NULL && !x->queued &&
	    x->early == NULL);
	begin_call(x, EXCHANGE_ANSWERING);
	x->close = close || x->client_closes;
	if (x->mhd == NULL)
		end_call(x, EXCHANGE_ANSWERING, E_CLIENT_GONE);
	return x->mhd != NULL;
}

/* In the middle of a body libmicrohttpd takes no answer. */
static void
keep_answer(struct mhd_exchange *x, struct answer *answer,
    const struct fields *more)
{
	x->kept = answer_ref(answer);
	x->kept_more.list = arena_alloc(
	    x->shown.arena, (more->count + 1) * sizeof *more->list);
	x->kept_more.count = more->count;
	for (size_t i = 0; i < more->count; i++)
		x->kept_more.list[i] = more->list[i];
	task_ready(x->front->loop, &x->now);
}

/*
 * A client that leaves, or closes its half, within its body ends the request.
 * libmicrohttpd does not see that by itself when it comes together with bytes,
 * but looks again at a connection that was held.
 */
static void
on_half_closed(struct mhd_exchange *x)
{
	x->half_closed = true;
	if (x->suspended || x->shown.body_ended)
		return;
	exchange_hold(x);
	exchange_resume(x);
}

/* What has come of the body was looked at, and it was not all. */
static void
on_now(void *exchange)
{
	struct mhd_exchange *x = exchange;
	struct answer *answer = x->kept;
	if (x->mhd == NULL || x->shown.body_ended ||
	    (answer != NULL && early_response_waits(x)))
		return;
	if (answer != NULL) {
		x->kept = NULL;
		early_response_new(x, answer, &x->kept_more, 0);
		answer_unref(&answer);
	} else if (x->half_closed) {
		on_half_closed(x);
	} else if (x->doing == EXCHANGE_READING && x->hang_up == NULL) {
		exchange_watch(x, on_half_closed);
	}
}

void
exchange_answer(struct exchange *shown, struct answer *answer,
    const struct fields *more, bool close)
{
	struct mhd_exchange *x = exchange_of(shown);
	if (!begin_answer(x, close))
		return;
	bool head = span_eq(x->shown.head.method, SPAN("HEAD"));
	x->shown.sent_bytes = head ? 0 : answer->body.len;
	if (early_response_is_due(x, answer, more))
		early_response_new(x, answer, more, 0);
	else if (x->shown.has_body && !x->shown.body_ended && x->up == NULL)
		keep_answer(x, answer, more);
	else
		give(x, answer->status,
		    reply_new(answer, more, head,
			x->close || x->front->draining));
}

void
exchange_answer_flow(struct exchange *shown, struct answer *answer,
    const struct fields *more, struct flow *flow, int64_t length, bool close)
{
	struct mhd_exchange *x = exchange_of(shown);
	if (!begin_answer(x, close))
		return;
	exchange_stream_from(x, flow);
	x->end_is_close =
	    length < 0 && span_eq(x->shown.head.version, SPAN("HTTP/1.0"));
	if (early_response_is_due(x, answer, more))
		early_response_new(x, answer, more, length);
	else
		give(x, answer->status,
		    reply_streamed(answer, more, length, exchange_stream_read,
			x, x->close || x->front->draining));
}

static void
tell_owner(struct mhd_exchange *x)
{
	x->shown.gone = true;
	x->left(x->left_arg);
}

void
exchange_watch_client(
    struct exchange *shown, void (*left)(void *arg), void *arg)
{
	struct mhd_exchange *x = exchange_of(shown);
	x->left = left;
	x->left_arg = arg;
	exchange_watch(x, left != NULL ? tell_owner : NULL);
}

void
exchange_end(struct exchange **shown)
{
	struct mhd_exchange *x = exchange_of(*shown);
	*shown = NULL;
	exchange_watch(x, NULL);
	early_response_leave(x);
	exchange_stream_detach(x);
	op_cancel(&x->shown.op);
	x->ended = true;
	/* What comes behind such an answer is not for libmicrohttpd. */
	if (!early_response_is_sent(x))
		exchange_resume(x);
	exchange_free(x);
}
