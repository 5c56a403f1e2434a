/* SPDX-License-Identifier: BSD-2-Clause */
#include <poll.h>
#include <sys/socket.h>

#include "base/error.h"
#include "http/front/client_connection_private.h"
#include "http/front/client_io_private.h"
#include "http/front/deadline_private.h"
#include "http/front/exchange_private.h"
#include "http/front/front_private.h"
#include "http/front/large_answer_private.h"
#include "http/front/reply.h"
#include "http/front/tls_private.h"
#include "http/head/proxy_headers.h"

enum {
	/*
	 * So little of a body that goes to an upstream is waited for: then the
	 * connection is kept.
	 */
	NEAR_BYTES = 65536,
};

static void on_ready(struct client_connection *c, unsigned events);

/* --- one exchange --- */

/*
 * In the arena in which its head is.  NULL: we have shown no request, so that
 * nothing of this one was judged.
 */
static struct mhd_exchange *
exchange_new(struct front *front, struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
	    mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	must(info != NULL && info->socket_context != NULL);
	struct client_connection *c = info->socket_context;
	if (!c->asks)
		return NULL;
	struct arena *arena = c->arena != NULL ? c->arena : arena_new();
	struct mhd_exchange *x = arena_alloc(arena, sizeof *x);
	c->arena = NULL;
	c->x = x;
	x->shown.arena = arena;
	x->front = front;
	x->mhd = mhd;
	x->connection = c;
	x->shown.body = (struct body){.budget = front->budget};
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
	body_clear(&x->shown.body);
	struct arena *arena = x->shown.arena;
	arena_free(&arena);
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

/* --- the head --- */

/* One that has come whole. */
static bool
cut_line(struct span *left, struct span *ret_line)
{
	if (!span_cut(left, '\r', ret_line) || left->len == 0)
		return false;
	*left = span_from(*left, 1);
	return true;
}

/*
 * As the client has sent it, and the wire has judged it; of what is wrong only
 * what stands before it, and of a first line that is none nothing.
 */
static void
read_lines(struct mhd_exchange *x)
{
	const struct client_connection *c = x->connection;
	struct head_as_sent *head = &x->shown.head;
	struct fields *fields = &head->fields;
	struct span left = span_of(c->head, c->head_len);
	struct span line, method, target;
	head->method = SPAN("-");
	head->target = head->version = SPAN("");
	if (!cut_line(&left, &line) || !span_cut(&line, ' ', &method) ||
	    !span_cut(&line, ' ', &target))
		return;
	head->method = method;
	head->target = target;
	head->version = line;
	size_t most = c->wire.fields;
	*fields = fields_new(x->shown.arena, most);
	while (fields->count < most && cut_line(&left, &line)) {
		struct field *f = &fields->list[fields->count];
		if (!span_cut(&line, ':', &f->name))
			break;
		f->value = span_trim(line);
		fields->count++;
	}
}

/* Taken apart; and what libmicrohttpd has to know of it.  It judges nothing. */
static void
copy_head(struct mhd_exchange *x)
{
	struct client_connection *c = x->connection;
	const struct wire *w = &c->wire;
	struct exchange *shown = &x->shown;
	const struct fields *fields = &shown->head.fields;
	bool connection = false, expects = false;
	read_lines(x);
	shown->head.verdict = w->verdict;
	shown->head.message = w->message;
	shown->head.fields_are_good = w->verdict == HEAD_CHECK_OK;
	shown->head.has_length = w->has_length;
	shown->head.chunked = w->chunked;
	shown->head.length = w->has_length ? (int64_t)w->left : 0;
	shown->client = arena_dup(shown->arena, span_str(c->client));
	shown->tls = c->conf != NULL;
	tls_certificate(c, shown->arena, &shown->certificate);
	shown->has_body =
	    w->verdict == HEAD_CHECK_OK && w->state != WIRE_BEGIN;
	x->body_over = !shown->has_body;
	x->content_length = w->chunked ? -1 : (int64_t)w->left;
	/* How the fields say that the connection goes on; looked at once. */
	bool old = span_eq(shown->head.version, SPAN("HTTP/1.0"));
	for (size_t i = 0; i < fields->count; i++) {
		struct span name = fields->list[i].name;
		expects |= span_ieq(name, SPAN("Expect"));
		connection |= span_ieq(name, SPAN("Connection"));
	}
	x->expects_continue = expects && !old && shown->has_body;
	x->client_closes =
	    connection && proxy_headers_connection_names(fields, SPAN("close"));
	/* Without the memory for it, the connection closes. */
	if (connection && old && !x->client_closes &&
	    proxy_headers_connection_names(fields, SPAN("keep-alive")))
		(void)MHD_set_connection_value(
		    x->mhd, MHD_HEADER_KIND, "Connection", "keep-alive");
	shown->began_us = clock_us();
}

/* --- the client's socket --- */

/*
 * A client may close its half behind its request and wait for the answer, but
 * one that has reset its connection waits for nothing.
 */
static void
on_hang_up(struct mhd_exchange *x)
{
	struct pollfd fd = {x->connection->fd, 0, 0};
	void (*left)(void *arg) = x->left;
	x->left = NULL;
	x->half_closed = true;
	if (left != NULL) {
		x->shown.gone = true;
		left(x->left_arg);
	} else if (poll(&fd, 1, 0) == 1 &&
	    (fd.revents & (POLLERR | POLLHUP))) {
		client_io_cut(x->connection);
	}
}

static void
update_watch(struct mhd_exchange *x)
{
	unsigned wanted = 0;
	if (x->mhd == NULL || x->connection->over)
		return;
	if (x->reads)
		wanted |= WATCH_READ;
	bool waits = x->down_waits || (x->up != NULL && !x->reads);
	if (x->left != NULL || (waits && !x->half_closed))
		wanted |= WATCH_HANG_UP;
	if (x->is_blocked)
		wanted |= WATCH_WRITE;
	client_io_watch(x->connection, wanted, on_ready);
}

/* --- the request's body --- */

/* Gives the reply to libmicrohttpd, which waits for it. */
static void
queue(struct mhd_exchange *x)
{
	struct client_connection *c = x->connection;
	struct MHD_Response *response = x->reply;
	x->reply = NULL;
	x->queued = true;
	x->front->dirty = true;
	deadline_begin(c, DOING_ANSWER);
	must(MHD_queue_response(x->mhd, x->reply_status, response) ==
	    MHD_YES);
	MHD_destroy_response(response);
	if (c->held)
		client_io_release(c);
}

/* No more of it comes: 0, or why it is not whole. */
static void
end_body(struct mhd_exchange *x, int error)
{
	struct flow *up = x->up;
	x->reads = false;
	x->body_over = true;
	x->shown.body_ended = error == 0;
	if (!x->queued && x->large == NULL)
		deadline_begin(x->connection, DOING_NOTHING);
	if (up != NULL) {
		x->up = NULL;
		flow_end(up, error);
	}
	end_call(x, EXCHANGE_READING, error);
	bool awaited = x->awaits_body && error == 0;
	x->awaits_body = false;
	if (awaited && x->connection->held)
		queue(x);
}

/* The bytes go where they are wanted; behind an error they are dropped. */
static size_t
take_bytes(void *arg, const char *bytes, size_t len)
{
	struct mhd_exchange *x = arg;
	if (x->up != NULL) {
		if (!x->up->closed && flow_room(x->up) == 0)
			return 0;
		len = flow_put(x->up, bytes, len);
	} else if (x->doing == EXCHANGE_READING) {
		int error = len > x->read_limit - x->shown.body.len
		    ? E_TOO_LARGE
		    : body_append_within(
			  &x->shown.body, bytes, len, x->read_limit);
		if (error != 0) {
			body_clear(&x->shown.body);
			end_call(x, EXCHANGE_READING, error);
		}
	}
	x->shown.body_bytes += len;
	return len;
}

/*
 * A client that waits is told to go on once the body is wanted.  Where no room
 * is for so little, it reads nothing of what it was sent.
 */
static bool
told_to_go_on(struct mhd_exchange *x)
{
	const struct span go_on = SPAN("HTTP/1.1 100 Continue\r\n\r\n");
	if (!x->expects_continue || x->connection->unread != NULL)
		return true;
	/* Nor does it hear that within its answer. */
	if (x->queued || x->large != NULL ||
	    (x->up != NULL && !flow_is_wanted(x->up)))
		return false;
	x->expects_continue = false;
	if (client_io_send(x->connection, go_on.ptr, go_on.len) ==
	    (ssize_t)go_on.len)
		return true;
	end_body(x, E_CLIENT_GONE);
	client_io_cut(x->connection);
	return false;
}

/* Reads what is there of it; it goes on by itself where there is no more. */
static void
read_body(struct mhd_exchange *x)
{
	x->reads = false;
	if (x->body_over || !told_to_go_on(x))
		return;
	switch (client_io_body(x->connection, take_bytes, x)) {
	case CLIENT_BODY_MORE:
		x->reads = true;
		break;
	case CLIENT_BODY_FULL: /* the flow calls */
		x->connection->was_held = true;
		break;
	case CLIENT_BODY_WHOLE:
		end_body(x, 0);
		break;
	case CLIENT_BODY_WRONG:
		x->shown.head.verdict = x->connection->wire.verdict;
		x->shown.head.message = x->connection->wire.message;
		end_body(x, E_MALFORMED);
		break;
	case CLIENT_BODY_GONE: /* nobody is to be answered */
		end_body(x, E_CLIENT_GONE);
		client_io_cut(x->connection);
		break;
	}
}

/* The owner wants it; or its flow has room, or a reader, or wants no more. */
static void
on_wanted(void *exchange)
{
	struct mhd_exchange *x = exchange;
	if (x->body_over && x->up != NULL) {
		flow_end(x->up, E_CLIENT_GONE);
		x->up = NULL;
		return;
	}
	read_body(x);
	update_watch(x);
}

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
	else if (!x->shown.has_body)
		end_body(x, 0);
	else
		on_wanted(x);
}

void
exchange_stream_body(struct exchange *shown, struct flow *flow)
{
	struct mhd_exchange *x = exchange_of(shown);
	must(!x->shown.body_ended && x->doing == EXCHANGE_IDLE);
	x->up = flow;
	flow_by(&flow->writer, on_wanted, x);
	/* Its reader may not be there yet, who is to hear of the end. */
	task_ready(x->front->loop, &flow->writer);
}

/* --- the answer --- */

/*
 * Where the connection's end would be the end of the content, it is reset:
 * connecting to nowhere does that.
 */
static void
cut_content(struct mhd_exchange *x)
{
	struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
	if (x->end_is_close)
		(void)!connect(
		    x->connection->fd, &nowhere, sizeof nowhere);
}

/* libmicrohttpd asks for content. */
static ssize_t
read_content(void *exchange, uint64_t at, char *buffer, size_t size)
{
	struct mhd_exchange *x = exchange;
	(void)at;
	bool lost = x->down == NULL || x->connection->over;
	struct span bytes = lost ? SPAN("") : flow_look(x->down);
	if (bytes.len > 0) {
		size_t len = bytes.len < size ? bytes.len : size;
		memcpy(buffer, bytes.ptr, len);
		flow_take(x->down, len);
		x->shown.sent_bytes += len;
		return (ssize_t)len;
	}
	if (lost || (x->down->ended && x->down->error != 0)) {
		cut_content(x);
		return MHD_CONTENT_READER_END_WITH_ERROR;
	}
	if (x->down->ended)
		return MHD_CONTENT_READER_END_OF_STREAM;
	client_io_hold(x->connection);
	x->down_waits = true;
	update_watch(x);
	return 0;
}

/* There are bytes again, or the end. */
static void
on_flow_readable(void *exchange)
{
	struct mhd_exchange *x = exchange;
	if (x->large != NULL) {
		x->is_blocked = large_answer_pump(x->large);
		update_watch(x);
	} else if (x->mhd != NULL && x->queued && x->connection->held) {
		client_io_release(x->connection);
	}
}

/* It has gone, or was cut short: the connection ends. */
static void
on_large_over(void *exchange, bool sent)
{
	struct mhd_exchange *x = exchange;
	struct client_connection *c = x->connection;
	x->sent = sent;
	if (sent) {
		client_io_give_up(c);
		end_call(x, EXCHANGE_ANSWERING, 0);
	} else {
		cut_content(x);
		client_io_cut(c);
	}
}

/*
 * Whether all of the request is in, so that the next may follow.  A body that
 * nobody wants is not waited for, but dropped as far as it is there; and a
 * client that waits to be told to go on may never send it.
 */
static bool
is_all_in(struct mhd_exchange *x)
{
	if (x->connection->wire.verdict != HEAD_CHECK_OK)
		return false;
	if (!x->shown.has_body)
		return true;
	if (x->up == NULL && !x->expects_continue) {
		read_body(x);
		x->reads = false;
	}
	x->awaits_body = x->up != NULL && !x->expects_continue &&
	    x->content_length >= 0 &&
	    (uint64_t)x->content_length - x->shown.body_bytes <= NEAR_BYTES;
	return x->shown.body_ended || x->awaits_body;
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
	if (x->connection->held && !x->awaits_body)
		queue(x);
}

void
exchange_answer(struct exchange *shown, struct answer *answer,
    const struct fields *more, struct flow *flow, int64_t length, bool close)
{
	struct mhd_exchange *x = exchange_of(shown);
	must(x->reply == NULL && !x->queued && x->large == NULL);
	begin_call(x, EXCHANGE_ANSWERING);
	if (x->mhd == NULL) {
		end_call(x, EXCHANGE_ANSWERING, E_CLIENT_GONE);
		return;
	}
	bool head = span_eq(shown->head.method, SPAN("HEAD"));
	bool all_in = is_all_in(x);
	x->connection->lingers = !all_in;
	close |= x->client_closes || x->front->draining || !all_in;
	x->down = flow;
	if (flow != NULL) {
		flow_by(&flow->reader, on_flow_readable, x);
		x->end_is_close = length < 0 &&
		    span_eq(shown->head.version, SPAN("HTTP/1.0"));
	} else {
		shown->sent_bytes = head ? 0 : answer->body.len;
	}
	x->large = large_answer_new(x, answer, more, length, on_large_over);
	if (x->large != NULL) {
		x->connection->lingers = true;
		/* It goes out at once, past the library. */
		x->awaits_body = false;
		deadline_begin(x->connection, DOING_ANSWER);
		x->is_blocked = large_answer_pump(x->large);
	} else {
		give(x, answer->status, flow != NULL
			? reply_streamed(
			      answer, more, length, read_content, x, close)
			: reply_new(answer, more, head, close));
	}
	update_watch(x);
}

static void
on_ready(struct client_connection *c, unsigned events)
{
	struct mhd_exchange *x = c->x;
	if (events & WATCH_WRITE)
		x->is_blocked = large_answer_pump(x->large);
	else if (events & WATCH_READ)
		read_body(x);
	else
		on_hang_up(x);
	update_watch(x);
}

/* --- libmicrohttpd's calls --- */

/*
 * It calls once when a request has come, and once more, because that has no
 * body: then it takes an answer, or is held until there is one.
 */
enum MHD_Result
exchange_on_request(void *arg, struct MHD_Connection *mhd, const char *url,
    const char *method, const char *version, const char *data, size_t *len,
    void **context)
{
	struct front *front = arg;
	struct mhd_exchange *x = *context;
	(void)url;
	(void)method;
	(void)version;
	(void)data;
	(void)len;
	/* Its owner would outlive a front that ends. */
	if (x == NULL && front->ending)
		return MHD_NO;
	if (x == NULL) {
		*context = x = exchange_new(front, mhd);
		if (x == NULL)
			return MHD_NO;
		copy_head(x);
		deadline_begin(x->connection,
		    x->body_over ? DOING_NOTHING : DOING_BODY);
		client_io_arrived(front, &x->shown);
		return MHD_YES;
	}
	if (x->queued)
		return MHD_YES;
	/* Its owner may have given it up without an answer. */
	if (x->ended || x->connection->over)
		return MHD_NO;
	if (x->reply != NULL && !x->awaits_body)
		queue(x);
	else
		client_io_hold(x->connection);
	return MHD_YES;
}

/* The answer is out, or the connection is gone; the last call. */
void
exchange_on_completed(void *front, struct MHD_Connection *mhd, void **context,
    enum MHD_RequestTerminationCode code)
{
	struct mhd_exchange *x = *context;
	(void)front;
	(void)mhd;
	if (x == NULL)
		return;
	struct client_connection *c = x->connection;
	*context = NULL;
	if (!x->body_over)
		end_body(x, E_CLIENT_GONE);
	if (x->queued && code == MHD_REQUEST_TERMINATED_COMPLETED_OK)
		x->sent = true;
	large_answer_free(&x->large);
	client_io_watch(c, 0, NULL);
	/* The next may be shown, of which some may have been read already. */
	c->asks = false;
	c->head = NULL;
	c->head_len = c->head_room = 0;
	if (c->unread != NULL || c->more)
		task_ready(c->front->loop, &c->look);
	deadline_begin(c, DOING_IDLE);
	c->x = NULL;
	x->mhd = NULL;
	x->shown.gone = !x->sent;
	end_call(x, EXCHANGE_READING, E_CLIENT_GONE);
	end_call(x, EXCHANGE_ANSWERING, x->sent ? 0 : E_CLIENT_GONE);
	exchange_free(x);
}

/* --- the owner's side --- */

void
exchange_watch_client(
    struct exchange *shown, void (*left)(void *arg), void *arg)
{
	struct mhd_exchange *x = exchange_of(shown);
	x->left = left;
	x->left_arg = arg;
	update_watch(x);
}

void
exchange_end(struct exchange **shown)
{
	struct mhd_exchange *x = exchange_of(*shown);
	*shown = NULL;
	if (x->up != NULL)
		flow_by(&x->up->writer, NULL, NULL);
	if (x->down != NULL)
		flow_by(&x->down->reader, NULL, NULL);
	x->up = x->down = NULL;
	x->left = NULL;
	x->reads = false;
	op_cancel(&x->shown.op);
	x->ended = true;
	if (x->mhd != NULL && x->large != NULL && !x->sent)
		client_io_cut(x->connection);
	else if (x->mhd != NULL && x->connection->held)
		client_io_release(x->connection);
	update_watch(x);
	exchange_free(x);
}
