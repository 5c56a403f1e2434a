/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <stdlib.h>

#include "base/error.h"
#include "http/deadline.h"
#include "http/gaps.h"
#include "http/inside.h"
#include "http/reply.h"

enum {
	/*
	 * A body that nobody wants is read to its end up to this length, so
	 * that a client still sending it reads our answer and not a reset.
	 */
	SWALLOW_BYTES = 16 * 1024 * 1024,
	/* What libmicrohttpd notes of a field or cookie. */
	NOTE_BYTES = 64,
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

static enum MHD_Result
count_field(void *arg, enum MHD_ValueKind kind, const char *name,
    size_t name_len, const char *value, size_t value_len)
{
	struct exchange *x = arg;
	(void)kind;
	(void)name;
	(void)value;
	x->fields.count++;
	x->head_bytes += name_len + value_len + 4;
	return MHD_YES;
}

static enum MHD_Result
check_gap(void *arg, enum MHD_ValueKind kind, const char *name,
    size_t name_len, const char *value, size_t value_len)
{
	(void)kind;
	gaps_field(arg, span_of(name, name_len), span_of(value, value_len));
	return MHD_YES;
}

static enum MHD_Result
copy_field(void *arg, enum MHD_ValueKind kind, const char *name,
    size_t name_len, const char *value, size_t value_len)
{
	struct exchange *x = arg;
	(void)kind;
	x->fields.list[x->fields.count++] = (struct field){
	    arena_dup(x->arena, span_of(name, name_len)),
	    arena_dup(x->arena, span_of(value ? value : "",
		value ? value_len : 0))};
	return MHD_YES;
}

/* The client's address without its port. */
static struct span
client_text(struct arena *arena, const struct sockaddr *sa)
{
	char text[INET6_ADDRSTRLEN] = "";
	if (sa != NULL && sa->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)sa;
		inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
	} else if (sa != NULL && sa->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)sa;
		const uint8_t *bytes = in6->sin6_addr.s6_addr;
		if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
			inet_ntop(AF_INET, bytes + 12, text, sizeof text);
		else
			inet_ntop(AF_INET6, bytes, text, sizeof text);
	} else {
		return SPAN("unix");
	}
	return arena_dup(arena, span_str(text));
}

/* The length that a Content-Length speaks of; -1 where it is not a number. */
static int64_t
parse_length(struct span text)
{
	int64_t length = 0;
	if (text.len == 0 || text.len > 18)
		return -1;
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9')
			return -1;
		length = 10 * length + (text.ptr[i] - '0');
	}
	return length;
}

static void
read_framing(struct exchange *x)
{
	const struct field *f =
	    fields_first(&x->fields, SPAN("Content-Length"));
	if (f != NULL)
		x->content_length = parse_length(span_trim(f->value));
	x->has_body = (f != NULL && x->content_length != 0) ||
	    fields_first(&x->fields, SPAN("Transfer-Encoding")) != NULL;
	f = fields_first(&x->fields, SPAN("Expect"));
	x->expects_continue = f != NULL;
}

/*
 * What libmicrohttpd keeps of the head in the connection's pool.  It must
 * leave room for the head of the answer, or the connection would be closed
 * without one when the request has been executed.
 */
static size_t
kept_bytes(struct exchange *x)
{
	size_t kept = x->head_bytes + NOTE_BYTES * x->fields.count;
	size_t at = 0;
	const struct field *f;
	while ((f = fields_next(&x->fields, SPAN("Cookie"), &at)) != NULL)
		kept += f->value.len + NOTE_BYTES;
	int cookies = MHD_get_connection_values_n(
	    x->mhd, MHD_COOKIE_KIND, NULL, NULL);
	return kept + NOTE_BYTES * (size_t)(cookies > 0 ? cookies : 0);
}

static void
check_gaps(struct exchange *x, const char *method, const char *version)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
	    x->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	must(info != NULL);
	gaps_begin(&x->gaps, method, x->target.len, version);
	MHD_get_connection_values_n(
	    x->mhd, MHD_HEADER_KIND, check_gap, &x->gaps);
	gaps_end(&x->gaps, method + info->header_size);
	x->ambiguous = x->gaps.found;
}

/* Copies the head, which libmicrohttpd forgets when the client leaves. */
static void
take_head(struct exchange *x, const char *method, const char *version)
{
	x->method = arena_dup(x->arena, span_str(method));
	x->version = arena_dup(x->arena, span_str(version));
	x->head_bytes = x->target.len;
	MHD_get_connection_values_n(x->mhd, MHD_HEADER_KIND, count_field, x);
	size_t count = x->fields.count;
	x->fields.list =
	    arena_alloc(x->arena, (count + 1) * sizeof(struct field));
	x->fields.count = 0;
	MHD_get_connection_values_n(x->mhd, MHD_HEADER_KIND, copy_field, x);
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
	    x->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	x->client = client_text(x->arena, info ? info->client_addr : NULL);
	x->tls = connection_of(x->mhd)->conf != NULL;
	read_framing(x);
	x->crowded = kept_bytes(x) > x->front->head_room;
	x->began_us = clock_us();
	if (x->front->checks_gaps)
		check_gaps(x, method, version);
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
	deadline_none(connection_of(x->mhd));
	take_head(x, method, version);
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
 * libmicrohttpd 0.9.75 would note each argument of the query in the
 * connection's memory, and where that does not suffice (some 1000 of them) it
 * falls silent until a time-out.  We have our own copy, so it finds none: it
 * has looked for the "?" by now and will read what stands behind.
 */
static void
hide_query(const char *target)
{
	char *query = (char *)(uintptr_t)strchr(target, '?');
	if (query != NULL)
		query[1] = '\0';
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
		hide_query(target);
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
	must(x->reply == NULL && !x->queued);
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
