/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/must.h"
#include "base/test_build.h"
#include "http/front/client_connection_private.h"
#include "http/front/front_private.h"
#include "http/front/head_queue_private.h"

/* As the client has sent it, from its method on. */
struct queued_head {
	struct queued_head *next; /* of later requests on the connection */
	uint64_t request;         /* its number there */
	size_t fields;            /* lines of them, or beginnings of lines */
	size_t len, room;
	char text[];
};

static bool
is_in_head(const struct wire *w)
{
	return w->state >= WIRE_METHOD && w->state < WIRE_BODY &&
	    !w->in_trailers;
}

/* --- keeping --- */

/* Where the one that is coming stands, or will. */
static struct queued_head **
coming(struct client_connection *c)
{
	struct queued_head **at = &c->heads;
	while (*at != NULL && (*at)->request != c->wire.requests)
		at = &(*at)->next;
	return at;
}

/*
 * Most are read and taken in one turn, so that one in memory does for all: the
 * front keeps it.
 */
static struct queued_head *
new_head(struct front *front, size_t len)
{
	struct queued_head *head = front->spare_head;
	size_t room = head != NULL && head->room >= len ? head->room : len;
	front->spare_head = NULL;
	if (room < HEAD_QUEUE_SPARE_BYTES)
		room = HEAD_QUEUE_SPARE_BYTES;
	if (head == NULL || head->room < room)
		head = mem_grow(head, sizeof *head + room); /* empty, so far */
	*head = (struct queued_head){.room = room};
	return head;
}

/* No token of a client stays where a core dump would have it. */
static void
drop_head(struct front *front, struct queued_head *head)
{
	sodium_memzero(head->text, head->len);
	if (front->spare_head == NULL && head->room <= HEAD_QUEUE_SPARE_BYTES)
		front->spare_head = head;
	else
		free(head);
}

static struct queued_head *
move_head(struct queued_head *head, size_t room)
{
	struct queued_head *moved = mem_grow(NULL, sizeof *moved + room);
	memcpy(moved, head, sizeof *head + head->len);
	moved->room = room;
	sodium_memzero(head->text, head->len);
	free(head);
	return moved;
}

static void
keep(struct client_connection *c, const char *bytes, size_t len)
{
	if (len == 0)
		return;
	struct queued_head **at = coming(c);
	if (*at == NULL)
		*at = new_head(c->front, len);
	else if ((*at)->room - (*at)->len < len)
		*at = move_head(*at, 2 * (*at)->room + len);
	struct queued_head *head = *at;
	memcpy(head->text + head->len, bytes, len);
	head->len += len;
	head->request = c->wire.requests;
	head->fields = c->wire.fields;
}

/* --- what libmicrohttpd is shown --- */

struct showing {
	char *to;
	size_t len, room;
};

static void
show(struct client_connection *c, struct showing *showing, struct span text)
{
	size_t n = showing->room - showing->len;
	if (n > text.len)
		n = text.len;
	if (n > 0)
		memcpy(showing->to + showing->len, text.ptr, n);
	showing->len += n;
	if (n == text.len)
		return;
	text = span_from(text, n);
	c->spilled = mem_grow(c->spilled, c->spilled_len + text.len);
	memcpy(c->spilled + c->spilled_len, text.ptr, text.len);
	c->spilled_len += text.len;
}

/* Something of it has come. */
static const struct queued_head *
begun(struct client_connection *c)
{
	const struct queued_head *head = *coming(c);
	must(head != NULL);
	return head;
}

/* With the blank behind it. */
static struct span
method_of(const struct queued_head *head)
{
	const char *blank = memchr(head->text, ' ', head->len);
	must(blank != NULL);
	return span_of(head->text, (size_t)(blank - head->text) + 1);
}

static void
show_line(struct client_connection *c, struct showing *showing)
{
	show(c, showing, method_of(begun(c)));
	show(c, showing,
	    c->wire.version_1_0 ? SPAN("/ HTTP/1.0\r\n")
				: SPAN("/ HTTP/1.1\r\n"));
	c->line_is_shown = true;
}

/* In a line that means nothing. */
static void
show_filler(struct client_connection *c, struct showing *showing, size_t shown)
{
	char line[HEAD_QUEUE_FILL_BYTES];
	const struct queued_head *head = begun(c);
	size_t waiting = 0, len = head->len;
	for (const struct queued_head *h = c->heads; h != head; h = h->next)
		waiting += h->len;
	if (waiting < HEAD_QUEUE_FULL_BYTES || len < shown + sizeof "-:x\r\n")
		return;
	len -= shown;
	if (len > sizeof line)
		len = sizeof line;
	memset(line, 'x', len);
	memcpy(line, "-:", 2);
	memcpy(line + len - 2, "\r\n", 2);
	show(c, showing, span_of(line, len));
}

/*
 * It has come whole, and waits in no more memory than it needs: behind another,
 * where there may be many, it has no byte to spare.
 */
static void
trim(struct client_connection *c, struct queued_head **at)
{
	struct queued_head *head = *at;
	bool is_first = head == c->heads;
	if (head == NULL || head->room == head->len ||
	    (is_first &&
		(head->room <= 2 * HEAD_QUEUE_SPARE_BYTES ||
		    head->room / 2 < head->len)))
		return;
	*at = move_head(head, head->len);
}

static void
show_end(struct client_connection *c, struct showing *showing)
{
	const struct wire *w = &c->wire;
	char text[HEAD_QUEUE_END_MAX] = "";
	if (w->chunked)
		snprintf(text, sizeof text, "Transfer-Encoding:chunked\r\n");
	else if (w->left > 0)
		snprintf(text, sizeof text, "Content-Length:%" PRIu64 "\r\n",
		    w->left);
	show(c, showing, span_str(text));
	show_filler(c, showing, sizeof text);
	show(c, showing, SPAN("\r\n"));
	trim(c, coming(c));
	c->line_is_shown = false;
}

struct span
head_queue_finish(struct client_connection *c)
{
	const struct wire *w = &c->wire;
	struct span method = SPAN("GET ");
	if (wire_is_behind_head(w))
		return SPAN("");
	if (c->line_is_shown)
		return SPAN("\r\n");
	if (w->state > WIRE_METHOD)
		method = method_of(begun(c));
	int len = snprintf(c->end_text, sizeof c->end_text,
	    "%.*s/ HTTP/1.0\r\n\r\n", (int)method.len, method.ptr);
	return span_of(c->end_text, (size_t)len);
}

/* --- what comes --- */

/* Of a head: no further than to the end of its first line, or of itself. */
static size_t
take_head(struct client_connection *c, struct showing *showing,
    const char *bytes, size_t len)
{
	struct wire *w = &c->wire;
	size_t at = 0;
	do {
		at += wire_step(w, bytes + at, len - at);
	} while (at < len && w->verdict == HEAD_CHECK_OK && is_in_head(w) &&
	    (c->line_is_shown || w->state != WIRE_FIELD));
	keep(c, bytes, at);
	if (w->verdict != HEAD_CHECK_OK)
		return at;
	if (!is_in_head(w))
		show_end(c, showing);
	else if (!c->line_is_shown && w->state == WIRE_FIELD)
		show_line(c, showing);
	return at;
}

/*
 * Of a body, whose bytes are shown as they came, each chunk's between two lines
 * of our own; or of what stands between two requests.
 */
static size_t
take_other(struct client_connection *c, struct showing *showing,
    const char *bytes, size_t len)
{
	struct wire *w = &c->wire;
	enum wire_state was = w->state;
	char line[24];
	size_t n = wire_step(w, bytes, len);
	if (was == WIRE_BODY ||
	    was >= (INVARIANT(short_chunk_lines) ? WIRE_DATA : WIRE_SIZE)) {
		show(c, showing, span_of(bytes, n));
	} else if (n > 0 && was == WIRE_SIZE_LF) {
		snprintf(line, sizeof line, "%" PRIx64 "\r\n", w->left);
		show(c, showing, span_str(line));
	} else if (n > 0 && was == WIRE_END_LF) {
		show(c, showing, SPAN("\r\n"));
	}
	return n;
}

size_t
head_queue_take(struct client_connection *c, const char *bytes, size_t len,
    char *to, size_t room, size_t *ret_shown)
{
	struct showing showing = {to, 0, room};
	size_t at = 0;
	while (at < len && c->wire.verdict == HEAD_CHECK_OK)
		at += is_in_head(&c->wire)
		    ? take_head(c, &showing, bytes + at, len - at)
		    : take_other(c, &showing, bytes + at, len - at);
	*ret_shown = showing.len;
	return at;
}

size_t
head_queue_spilled(struct client_connection *c, char *bytes, size_t room)
{
	size_t n = c->spilled_len < room ? c->spilled_len : room;
	if (n == 0)
		return 0;
	memcpy(bytes, c->spilled, n);
	c->spilled_len -= n;
	memmove(c->spilled, c->spilled + n, c->spilled_len);
	if (c->spilled_len == 0) {
		free(c->spilled);
		c->spilled = NULL;
	}
	return n;
}

/* --- for the exchange --- */

static void
free_first(struct client_connection *c)
{
	struct queued_head *head = c->heads;
	c->heads = head->next;
	drop_head(c->front, head);
}

char *
head_queue_pop(struct client_connection *c, struct arena *arena,
    size_t *ret_len, size_t *ret_fields)
{
	const struct queued_head *head = c->heads;
	if (head == NULL || head->request != c->requests)
		return NULL;
	char *text = (char *)(uintptr_t)arena_dup(
	    arena, span_of(head->text, head->len)).ptr;
	*ret_len = head->len;
	*ret_fields = head->fields;
	free_first(c);
	return text;
}

void
head_queue_end(struct client_connection *c)
{
	while (c->heads != NULL)
		free_first(c);
	free(c->spilled);
}

void
head_queue_end_front(struct front *front)
{
	free(front->spare_head);
}
