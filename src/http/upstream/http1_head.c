/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "http/upstream/http1_head.h"

/* --- the head of a request --- */

static bool
is_path(struct span s)
{
	return s.len > 0 && s.ptr[0] == '/' && field_is_visible(s);
}

/*
 * Fields that say where a message ends, what happens to the connection, or
 * that the upstream is asked before the body is sent: only we write those.
 */
static bool
is_valid(const struct http1_request *request)
{
	if (!field_is_token(request->method) || !is_path(request->target) ||
	    (request->base_path.len > 0 && !is_path(request->base_path)) ||
	    request->host.len == 0 || !field_is_visible(request->host))
		return false;
	for (size_t i = 0; i < request->fields->count; i++) {
		const struct field *f = &request->fields->list[i];
		enum field_kind kind = field_kind(f->name);
		bool ours = kind == FIELD_HOP ||
		    (kind == FIELD_OWN &&
			(span_ieq(f->name, SPAN("Host")) ||
			    span_ieq(f->name, SPAN("Content-Length")) ||
			    span_ieq(f->name, SPAN("Expect"))));
		if (ours || !field_is_token(f->name) ||
		    !field_is_value(f->value))
			return false;
	}
	return true;
}

static char *
put_field(char *at, struct span name, struct span value)
{
	at = span_put(at, name);
	at = span_put(at, SPAN(": "));
	at = span_put(at, value);
	return span_put(at, SPAN("\r\n"));
}

int
http1_head_write(const struct http1_request *request, struct body *out)
{
	/* More bytes than stand here besides the caller's parts. */
	enum { OWN_BYTES = 128 };
	const struct fields *fields = request->fields;
	if (!is_valid(request) && INVARIANT(request_head))
		return E_MALFORMED;
	size_t bytes_max = request->method.len + request->base_path.len +
	    request->target.len + request->host.len + OWN_BYTES;
	for (size_t i = 0; i < fields->count; i++)
		bytes_max += fields->list[i].name.len +
		    fields->list[i].value.len + sizeof ": \r\n";
	must(out->budget == NULL);
	must(body_reserve(out, out->len + bytes_max, BUDGET_COMMON) == 0);

	char *at = out->ptr + out->len;
	at = span_put(at, request->method);
	at = span_put(at, SPAN(" "));
	at = span_put(at, request->base_path);
	at = span_put(at, request->target);
	at = span_put(at, SPAN(" HTTP/1.1\r\n"));
	at = put_field(at, SPAN("Host"), request->host);
	for (size_t i = 0; i < fields->count; i++)
		at = put_field(
		    at, fields->list[i].name, fields->list[i].value);
	if (request->has_body && request->chunked) {
		at = put_field(
		    at, SPAN("Transfer-Encoding"), SPAN("chunked"));
	} else if (request->has_body) {
		char digits[DIGITS_MAX];
		size_t len = digits_put(digits, (int64_t)request->body_bytes);
		at = put_field(
		    at, SPAN("Content-Length"), span_of(digits, len));
	}
	if (request->close)
		at = put_field(at, SPAN("Connection"), SPAN("close"));
	at = span_put(at, SPAN("\r\n"));
	out->len = (size_t)(at - out->ptr);
	must(out->len <= out->size);
	return 0;
}

/* --- the head of an answer --- */

/* The first line of every answer begins with this. */
static const struct span version = {"HTTP/1.", 7};

void
http1_head_begin(struct http1_head *head, size_t max_bytes)
{
	head->max_bytes = max_bytes;
	head->interim = 0;
	head->status = 0;
	head->persistent = true;
	head->chunked = false;
	head->content_length = -1;
	head->keep_alive_s = -1;
	head->len = head->line = 0;
	head->n_fields = 0;
	head->version_1_0 = false;
}

void
http1_head_free(struct http1_head *head)
{
	free(head->text);
	free(head->list);
	*head = (struct http1_head){0};
}

/* Takes "HTTP/1.1 200 OK"; " OK" may be missing. */
static bool
take_status(struct http1_head *head, struct span line)
{
	if (line.len < 12 || !span_starts(line, version) ||
	    (line.ptr[7] != '0' && line.ptr[7] != '1') || line.ptr[8] != ' ' ||
	    (line.len > 12 && line.ptr[12] != ' '))
		return false;
	int64_t status;
	/* 101 would end HTTP on this connection; nobody asked for it. */
	if (!digits_read(span_of(line.ptr + 9, 3), 599, &status) ||
	    status < 100 || status == 101)
		return false;
	head->status = (int)status;
	head->version_1_0 = line.ptr[7] == '0';
	/* HTTP/1.0's keep-alive is left alone (RFC 9112, appendix C.2.2). */
	head->persistent = !head->version_1_0;
	return true;
}

/* Reads "timeout=5, max=100": whole seconds; -1: it says nothing usable. */
static int64_t
read_keep_alive(struct span list)
{
	static const struct span timeout = {"timeout=", 8};
	struct span piece;
	int64_t seconds;
	while (span_next(&list, ',', &piece))
		if (piece.len > timeout.len && piece.len < timeout.len + 9 &&
		    span_ieq(span_of(piece.ptr, timeout.len), timeout) &&
		    digits_read_exact(span_from(piece, timeout.len), INT64_MAX,
			&seconds))
			return seconds;
	return -1;
}

/*
 * Takes in fields that decide where the answer ends, or what becomes of the
 * connection; false where two readers could understand them differently.
 */
static bool
take_known(struct http1_head *head, struct span name, struct span value)
{
	struct span word;
	if (span_ieq(name, SPAN("Content-Length")))
		/* "0", or digits that do not begin with it (RFC 9110, 8.6). */
		return (head->content_length < 0 ||
			   !INVARIANT(answer_one_length)) &&
		    digits_read_exact(value, INT64_MAX, &head->content_length);
	if (span_ieq(name, SPAN("Transfer-Encoding"))) {
		bool first = !head->chunked;
		head->chunked = true;
		return (first && span_ieq(value, SPAN("chunked"))) ||
		    !INVARIANT(answer_coding);
	}
	if (span_ieq(name, SPAN("Connection"))) {
		while (span_next(&value, ',', &word))
			if (span_ieq(word, SPAN("close")))
				head->persistent = false;
	} else if (span_ieq(name, SPAN("Keep-Alive"))) {
		head->keep_alive_s = read_keep_alive(value);
	}
	return true;
}

static enum http1_head_state
take_answer_field(struct http1_head *head, struct span line)
{
	/* Folded lines and blanks before the colon make it no token. */
	const char *colon = memchr(line.ptr, ':', line.len);
	if (colon == NULL)
		return HEAD_MALFORMED;
	struct span name = span_of(line.ptr, (size_t)(colon - line.ptr));
	struct span value = span_trim(span_from(line, name.len + 1));
	if ((!field_is_token(name) && INVARIANT(answer_names)) ||
	    !take_known(head, name, value))
		return HEAD_MALFORMED;
	if (head->n_fields == HEAD_FIELDS_MAX)
		return HEAD_TOO_LARGE;
	if (head->n_fields == head->list_size) {
		head->list_size = head->list_size ? 2 * head->list_size : 16;
		head->list = mem_grow(
		    head->list, head->list_size * sizeof *head->list);
	}
	head->list[head->n_fields++] = (struct http1_head_field){
	    .name = (size_t)(name.ptr - head->text),
	    .name_len = name.len,
	    .value = (size_t)(value.ptr - head->text),
	    .value_len = value.len,
	};
	return HEAD_MORE;
}

/* A line feed has come: the line must end with CRLF and nothing else. */
static enum http1_head_state
end_line(struct http1_head *head)
{
	bool first = head->line == 0;
	struct span line =
	    span_of(head->text + head->line, head->len - head->line - 1);
	if (line.len == 0 || line.ptr[line.len - 1] != '\r')
		return HEAD_MALFORMED;
	line.len--;
	if (!field_is_value(line) && INVARIANT(answer_controls))
		return HEAD_MALFORMED;
	head->line = head->len;
	if (first)
		return take_status(head, line) ? HEAD_MORE : HEAD_MALFORMED;
	if (line.len > 0)
		return take_answer_field(head, line);
	if (head->status < 200) {
		unsigned interim = head->interim + 1;
		if (interim > HEAD_INTERIM_MAX)
			return HEAD_MALFORMED;
		http1_head_begin(head, head->max_bytes);
		head->interim = interim;
		return HEAD_MORE;
	}
	/* RFC 9112, section 6.1: smuggling, or a peer that knows no chunks. */
	if (head->chunked && INVARIANT(answer_one_framing) &&
	    (head->content_length >= 0 || head->version_1_0))
		return HEAD_MALFORMED;
	return HEAD_WHOLE;
}

enum http1_head_state
http1_head_feed(struct http1_head *head, struct span *bytes)
{
	while (bytes->len > 0) {
		const char *lf = memchr(bytes->ptr, '\n', bytes->len);
		size_t len =
		    lf ? (size_t)(lf - bytes->ptr) + 1 : bytes->len;
		size_t room = head->max_bytes - head->len;
		size_t kept = len < room ? len : room;
		if (kept > head->size - head->len) {
			head->size = 2 * (head->len + kept);
			head->text = mem_grow(head->text, head->size);
		}
		memcpy(head->text + head->len, bytes->ptr, kept);
		head->len += kept;
		if (lf == NULL || len > room) {
			/* The first line may still become a status line. */
			struct span begun = span_of(head->text,
			    head->len < version.len ? head->len : version.len);
			if (head->line == 0 && !span_starts(version, begun))
				return HEAD_MALFORMED;
			if (len > room)
				return HEAD_TOO_LARGE;
		}
		*bytes = span_from(*bytes, len);
		if (lf == NULL)
			return HEAD_MORE;
		enum http1_head_state state = end_line(head);
		if (state != HEAD_MORE)
			return state;
	}
	return HEAD_MORE;
}

char *
http1_head_take(const struct http1_head *head, struct fields *ret_fields)
{
	size_t list_bytes = head->n_fields * sizeof(struct field);
	char *block = mem_grow(NULL, list_bytes + head->len);
	struct field *list = (struct field *)(void *)block;
	char *text = block + list_bytes;
	memcpy(text, head->text, head->len);
	for (size_t i = 0; i < head->n_fields; i++) {
		const struct http1_head_field *f = &head->list[i];
		list[i].name = span_of(text + f->name, f->name_len);
		list[i].value = span_of(text + f->value, f->value_len);
	}
	*ret_fields = (struct fields){list, head->n_fields};
	return block;
}
