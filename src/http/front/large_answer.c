/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "http/front/client_connection_private.h"
#include "http/front/client_io_private.h"
#include "http/front/exchange_private.h"
#include "http/front/front_private.h"
#include "http/front/large_answer_private.h"
#include "http/front/reply.h"

enum {
	/* Of a head, besides the fields that are known. */
	LINES_BYTES = 512,
	/* A piece of a streamed answer, one chunk. */
	PIECE_BYTES = 16384,
};

struct large_answer {
	struct mhd_exchange *x;
	void (*over)(void *x, bool sent);
	struct body out; /* to be sent, from at on */
	size_t at;
	bool chunked;
	bool whole; /* nothing comes behind out */
	bool ended;
};

/* --- what is written --- */

static void
put(struct large_answer *l, struct span text)
{
	must(body_append(&l->out, text.ptr, text.len) == 0);
}

/* The next piece of the flow, or its end; false where there is none yet. */
static bool
put_piece(struct large_answer *l)
{
	struct mhd_exchange *x = l->x;
	struct span bytes = x->down != NULL ? flow_look(x->down) : SPAN("");
	size_t len = bytes.len < PIECE_BYTES ? bytes.len : PIECE_BYTES;
	char size[24];
	if (len > 0) {
		snprintf(size, sizeof size, "%zx\r\n", len);
		if (l->chunked)
			put(l, span_str(size));
		put(l, span_of(bytes.ptr, len));
		if (l->chunked)
			put(l, SPAN("\r\n"));
		flow_take(x->down, len);
		x->shown.sent_bytes += len;
	} else if (x->down != NULL && x->down->ended && x->down->error == 0) {
		l->whole = true;
		if (l->chunked)
			put(l, SPAN("0\r\n\r\n"));
	}
	return l->out.len > 0;
}

/* --- sending --- */

static void
end(struct large_answer *l, bool sent)
{
	struct client_connection *c = l->x->connection;
	l->ended = true;
	if (sent && c->session != NULL)
		(void)gnutls_bye(c->session, GNUTLS_SHUT_WR);
	if (sent)
		shutdown(c->fd, SHUT_WR);
	l->over(l->x, sent);
}

bool
large_answer_pump(struct large_answer *l)
{
	struct mhd_exchange *x = l->x;
	while (!l->ended) {
		ssize_t n;
		if (l->at < l->out.len) {
			n = client_io_send(x->connection, l->out.ptr + l->at,
			    l->out.len - l->at);
			if (n < 0 && (errno == EAGAIN || errno == EINTR))
				return true;
			if (n < 0)
				end(l, false);
			else
				l->at += (size_t)n;
			continue;
		}
		l->at = l->out.len = 0;
		if (l->whole)
			end(l, true);
		else if (put_piece(l) || l->whole)
			continue;
		else if (x->down != NULL && x->down->ended)
			end(l, false);
		else
			return false;
	}
	return false;
}

/* --- life --- */

/* An answer that cannot be put into a head says so, and nothing else. */
struct large_answer *
large_answer_new(struct mhd_exchange *x, const struct answer *answer,
    const struct fields *more, int64_t length,
    void (*over)(void *x, bool sent))
{
	size_t len, bytes = reply_lines_bytes(answer, more);
	if (LINES_BYTES + bytes <= FRONT_ANSWER_HEAD_BYTES)
		return NULL;
	struct large_answer *l = mem_zero(sizeof *l);
	bool bodiless = answer->status == MHD_HTTP_NO_CONTENT ||
	    answer->status == MHD_HTTP_NOT_MODIFIED ||
	    span_eq(x->shown.head.method, SPAN("HEAD"));
	const char *reason =
	    MHD_get_reason_phrase_for((unsigned)answer->status);
	char line[80], *lines = arena_alloc(x->shown.arena, bytes + 1);
	l->x = x;
	l->over = over;
	if (!reply_lines(answer, more, lines, &len)) {
		l->whole = true;
		x->shown.sent_bytes = 0;
		put(l, SPAN("HTTP/1.1 500 Internal Server Error\r\n"
			    "Connection: close\r\nContent-Length: 0\r\n\r\n"));
		return l;
	}
	snprintf(line, sizeof line,
	    "HTTP/1.1 %d %s\r\nConnection: close\r\n", answer->status,
	    reason != NULL ? reason : "");
	put(l, span_str(line));
	put(l, span_of(lines, len));
	l->whole = x->down == NULL;
	if (l->whole)
		length = bodiless ? answer->head_length
				  : (int64_t)answer->body.len;
	l->chunked = !l->whole && length < 0 && !x->end_is_close;
	snprintf(line, sizeof line, "Content-Length: %lld\r\n",
	    (long long)length);
	if (length >= 0)
		put(l, span_str(line));
	else if (l->chunked)
		put(l, SPAN("Transfer-Encoding: chunked\r\n"));
	put(l, SPAN("\r\n"));
	if (l->whole && !bodiless)
		put(l, body_span(&answer->body));
	return l;
}

void
large_answer_free(struct large_answer **large)
{
	if (*large == NULL)
		return;
	body_clear(&(*large)->out);
	free(*large);
	*large = NULL;
}
