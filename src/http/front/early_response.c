/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/mem.h"
#include "http/front/client_connection_private.h"
#include "http/front/client_recv_private.h"
#include "http/front/deadline_private.h"
#include "http/front/early_response_private.h"
#include "http/front/exchange_private.h"
#include "http/front/exchange_stream_private.h"
#include "http/front/front_private.h"

enum {
	/* So little of a body is waited for: then the connection is kept. */
	NEAR_BYTES = 65536,
	/* Of a head, besides the fields that are known. */
	LINES_BYTES = 512,
	/* A piece of a streamed answer, one chunk. */
	STAGE_BYTES = 16384,
	/*
	 * A client that still sends is read for so long, and up to so much, so
	 * that it gets the answer and not a reset.
	 */
	LINGER_MS = 10000,
	LINGER_BYTES = 64 * 1024 * 1024,
	LINGER_AT_ONCE = 1024 * 1024,
};

struct early_response {
	struct mhd_exchange *x;
	struct watch *watch; /* of the client's socket */
	struct timer timer;  /* of a client that does not read; of lingering */
	struct body out;     /* to be sent, from at on */
	size_t at;
	bool begun;
	bool chunked;
	bool whole; /* nothing comes behind out */
	bool sent;
	bool over; /* the connection was ended */
	size_t dropped; /* of what came behind the answer */
};

static void pump(struct early_response *b);

/* --- what is written --- */

static void
append_bytes(struct early_response *b, struct span text)
{
	must(body_append(&b->out, text.ptr, text.len) == 0);
}

/* False, and all is undone, where one of them is no field. */
static bool
put_fields(struct early_response *b, const struct fields *fields)
{
	for (size_t i = 0; i < fields->count; i++) {
		const struct field *f = &fields->list[i];
		if (!field_is_token(f->name) || !field_is_value(f->value))
			return false;
		append_bytes(b, f->name);
		append_bytes(b, SPAN(": "));
		append_bytes(b, f->value);
		append_bytes(b, SPAN("\r\n"));
	}
	return true;
}

static void
put_status(struct early_response *b, int status)
{
	const char *reason = MHD_get_reason_phrase_for((unsigned)status);
	char line[80];
	int len = snprintf(line, sizeof line,
	    "HTTP/1.1 %d %s\r\nConnection: close\r\n", status,
	    reason ? reason : "");
	must(len > 0 && (size_t)len < sizeof line);
	append_bytes(b, span_of(line, (size_t)len));
}

static void
put_length(struct early_response *b, int64_t length)
{
	char line[48];
	int len = snprintf(line, sizeof line, "Content-Length: %lld\r\n",
	    (long long)length);
	append_bytes(b, span_of(line, (size_t)len));
}

/* An answer that cannot be put into a head says so, and nothing else. */
static void
put_failure(struct early_response *b)
{
	b->out.len = 0;
	put_status(b, MHD_HTTP_INTERNAL_SERVER_ERROR);
	append_bytes(b, SPAN("Content-Length: 0\r\n\r\n"));
	b->whole = true;
	b->x->shown.sent_bytes = 0;
}

static void
put_response(struct early_response *b, const struct answer *answer,
    const struct fields *more, int64_t length)
{
	struct mhd_exchange *x = b->x;
	bool bodiless = answer->status == MHD_HTTP_NO_CONTENT ||
	    answer->status == MHD_HTTP_NOT_MODIFIED ||
	    span_eq(x->shown.head.method, SPAN("HEAD"));
	put_status(b, answer->status);
	if (!put_fields(b, &answer->fields) || !put_fields(b, more)) {
		put_failure(b);
		return;
	}
	b->whole = x->down == NULL;
	if (b->whole)
		length = bodiless ? answer->head_length
				  : (int64_t)answer->body.len;
	b->chunked = !b->whole && length < 0 && !x->end_is_close;
	if (length >= 0)
		put_length(b, length);
	else if (b->chunked)
		append_bytes(b, SPAN("Transfer-Encoding: chunked\r\n"));
	append_bytes(b, SPAN("\r\n"));
	if (b->whole && !bodiless)
		append_bytes(b, body_span(&answer->body));
}

/* The next piece of the flow; false where there is none. */
static bool
put_piece(struct early_response *b)
{
	struct mhd_exchange *x = b->x;
	struct span bytes = flow_look(x->down);
	size_t len = bytes.len < STAGE_BYTES ? bytes.len : STAGE_BYTES;
	char size[24];
	if (len > 0) {
		snprintf(size, sizeof size, "%zx\r\n", len);
		if (b->chunked)
			append_bytes(b, span_str(size));
		append_bytes(b, span_of(bytes.ptr, len));
		if (b->chunked)
			append_bytes(b, SPAN("\r\n"));
		flow_take(x->down, len);
		x->shown.sent_bytes += len;
	} else if (x->down->ended && x->down->error == 0) {
		b->whole = true;
		if (b->chunked)
			append_bytes(b, SPAN("0\r\n\r\n"));
	}
	return b->out.len > 0;
}

/* --- its end --- */

static void
end_client(struct early_response *b)
{
	struct mhd_exchange *x = b->x;
	if (b->over)
		return;
	b->over = true;
	timer_clear(&b->timer);
	watch_free(&b->watch);
	client_connection_cut(x->connection);
	exchange_resume(x);
}

static void
cut_client_off(struct early_response *b)
{
	exchange_stream_cut(b->x);
	end_client(b);
}

static void
on_time_out(void *arg)
{
	struct early_response *b = arg;
	if (b->sent)
		end_client(b);
	else
		cut_client_off(b);
}

/* What comes behind the answer; libmicrohttpd sees none of it. */
static void
drop_bytes(struct early_response *b)
{
	struct client_connection *c = b->x->connection;
	char bytes[STAGE_BYTES];
	ssize_t n = 1;
	for (size_t once = 0; n > 0 && once < LINGER_AT_ONCE;
	     once += (size_t)n) {
		n = client_recv_raw(c, bytes, sizeof bytes);
		b->dropped += n > 0 ? (size_t)n : 0;
	}
	bool over = n == 0 || (n < 0 && errno != EAGAIN);
	if (over || b->dropped >= LINGER_BYTES)
		end_client(b);
}

/*
 * The answer is out; who still sends, if only the next request, is read for a
 * while: a connection that is closed before takes the answer with it.
 */
static void
linger_behind(struct early_response *b)
{
	if (!b->x->suspended)
		exchange_hold(b->x);
	timer_set(&b->timer, LINGER_MS);
	watch_want(b->watch, WATCH_READ);
	drop_bytes(b);
}

static void
finish_answer(struct early_response *b)
{
	struct mhd_exchange *x = b->x;
	struct client_connection *c = x->connection;
	b->sent = true;
	timer_clear(&b->timer);
	if (c->session != NULL)
		(void)gnutls_bye(c->session, GNUTLS_SHUT_WR);
	shutdown(c->fd, SHUT_WR);
	linger_behind(b);
	exchange_answered(x);
}

/* --- sending --- */

static void
on_client_ready(void *arg, unsigned events)
{
	struct early_response *b = arg;
	(void)events;
	if (b->sent)
		drop_bytes(b);
	else
		pump(b);
}

/* Sends what the client takes. */
static void
pump(struct early_response *b)
{
	struct mhd_exchange *x = b->x;
	struct client_connection *c = x->connection;
	for (;;) {
		if (b->at == b->out.len) {
			b->at = b->out.len = 0;
			if (b->whole || !put_piece(b))
				break;
		}
		ssize_t n = client_recv_send(
		    c, b->out.ptr + b->at, b->out.len - b->at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN) {
			end_client(b);
			return;
		}
		if (n < 0) {
			if (!timer_is_set(&b->timer))
				timer_set(&b->timer,
				    x->front->conf->idle_timeout_ms);
			watch_want(b->watch, WATCH_WRITE);
			return;
		}
		timer_clear(&b->timer);
		b->at += (size_t)n;
	}
	watch_want(b->watch, 0);
	if (b->whole)
		finish_answer(b);
	else if (x->down->ended)
		cut_client_off(b);
}

void
early_response_pump(struct mhd_exchange *x)
{
	if (x->early->begun && !x->early->sent && !x->early->over)
		pump(x->early);
}

/* --- life --- */

static size_t
lines_bytes(const struct fields *fields)
{
	size_t bytes = 0;
	for (size_t i = 0; i < fields->count; i++)
		bytes += fields->list[i].name.len + fields->list[i].value.len +
		    strlen(": \r\n");
	return bytes;
}

bool
early_response_is_due(const struct mhd_exchange *x,
    const struct answer *answer, const struct fields *more)
{
	size_t bytes = LINES_BYTES + lines_bytes(&answer->fields) +
	    lines_bytes(more);
	return bytes > FRONT_ANSWER_HEAD_BYTES ||
	    x->shown.head.verdict != HEAD_CHECK_OK ||
	    client_connection_is_spoiled(x->connection) ||
	    (x->up != NULL && !x->shown.body_ended && !x->in_head &&
		(x->content_length < 0 ||
		    (uint64_t)x->content_length - x->shown.body_bytes >
			NEAR_BYTES));
}

bool
early_response_waits(struct mhd_exchange *x)
{
	bool first = !x->looked;
	x->looked = true;
	if (!first || x->suspended || x->connection->session != NULL ||
	    !client_connection_has_more(x->connection))
		return false;
	exchange_hold(x);
	exchange_resume(x);
	return true;
}

static void
start_writing(struct early_response *b)
{
	struct mhd_exchange *x = b->x;
	if (b->begun)
		return;
	b->begun = true;
	/* How long it may take is for the timer here. */
	deadline_none(x->connection);
	exchange_watch(x, NULL);
	b->watch = watch_new(x->front->loop, x->connection->fd,
	    on_client_ready, b);
	pump(b);
}

void
early_response_new(struct mhd_exchange *x, const struct answer *answer,
    const struct fields *more, int64_t length)
{
	struct early_response *b = mem_zero(sizeof *b);
	b->x = x;
	body_init(&b->out, NULL);
	timer_init(&b->timer, x->front->loop, on_time_out, b);
	x->early = b;
	put_response(b, answer, more, length);
	/*
	 * libmicrohttpd itself may be about to write, a 100 (Continue); but not
	 * where something wrong was read behind the head: it reads none of that
	 * before.
	 */
	if (!x->expects_continue || x->shown.body_bytes > 0 || x->in_head ||
	    client_connection_is_spoiled(x->connection))
		start_writing(b);
	/* It has not seen that the body is wanted, and need not see it. */
	if (!x->in_head && !b->sent)
		exchange_resume(x);
}

enum MHD_Result
early_response_on_request(struct mhd_exchange *x, const char *data, size_t *len)
{
	struct early_response *b = x->early;
	if (b->over)
		return MHD_NO;
	start_writing(b);
	if (*len > 0) {
		if (x->up != NULL)
			return exchange_stream_data(x, data, len);
		*len = 0;
	} else if (!x->shown.body_ended) {
		x->shown.body_ended = true;
		exchange_stream_end(x, 0);
	} else if (!x->suspended) {
		exchange_hold(x);
	}
	return MHD_YES;
}

bool
early_response_is_sent(const struct mhd_exchange *x)
{
	return x->early != NULL && x->early->sent;
}

void
early_response_leave(struct mhd_exchange *x)
{
	if (x->early != NULL && !x->early->sent)
		end_client(x->early);
}

void
early_response_free(struct mhd_exchange *x)
{
	struct early_response *b = x->early;
	x->early = NULL;
	if (b == NULL)
		return;
	timer_clear(&b->timer);
	watch_free(&b->watch);
	body_clear(&b->out);
	free(b);
}
