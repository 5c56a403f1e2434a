/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/digits.h"
#include "base/mem.h"
#include "base/must.h"
#include "base/rfc3339.h"
#include "base/utf8.h"
#include "messages/relay/relay_text.h"

/* Text that grows. */
struct text {
	char *bytes;
	size_t len, size;
};

static void
emit(struct text *text, struct span s)
{
	if (text->len + s.len > text->size) {
		text->size = 2 * (text->len + s.len) + 256;
		text->bytes = mem_grow(text->bytes, text->size);
	}
	if (s.len > 0)
		memcpy(text->bytes + text->len, s.ptr, s.len);
	text->len += s.len;
}

/* --- values --- */

static void
emit_number(struct text *text, int64_t number)
{
	char digits[DIGITS_MAX];
	emit(text, span_of(digits, digits_put(digits, number)));
}

static void
emit_escaped(struct text *text, unsigned char c)
{
	char escape[8];
	if (c == '"' || c == '\\') {
		escape[0] = '\\';
		escape[1] = (char)c;
		emit(text, span_of(escape, 2));
	} else {
		snprintf(escape, sizeof escape, "\\u%04x", (unsigned)c);
		emit(text, span_of(escape, 6));
	}
}

static void
emit_latin1(struct text *text, unsigned char c)
{
	char bytes[4];
	emit(text, span_of(bytes, utf8_put(c, bytes)));
}

static bool
stands_as_it_is(unsigned char c)
{
	return c >= 0x20 && c != '"' && c != '\\' && c != 0x7f;
}

static void
emit_string(struct text *text, struct span s)
{
	bool utf8 = utf8_is_valid(s);
	size_t from = 0;
	emit(text, SPAN("\""));
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		if (stands_as_it_is(c) && (utf8 || c < 0x80))
			continue;
		emit(text, span_of(s.ptr + from, i - from));
		if (stands_as_it_is(c))
			emit_latin1(text, c);
		else if (c != '\0')
			emit_escaped(text, c);
		from = i + 1;
	}
	emit(text, span_from(s, from));
	emit(text, SPAN("\""));
}

/* ptr NULL: it is not known. */
static void
emit_known(struct text *text, struct span s)
{
	if (s.ptr == NULL)
		emit(text, SPAN("null"));
	else
		emit_string(text, s);
}

static void
emit_time(struct text *text, int64_t wall_ms)
{
	char time[RFC3339_MAX];
	emit(text, SPAN("\""));
	emit(text, span_str(rfc3339_write(wall_ms, time)));
	emit(text, SPAN("\""));
}

/* --- the stored answer --- */

static void
emit_headers(struct text *text, const struct fields *fields)
{
	emit(text, SPAN("["));
	for (size_t i = 0; i < fields->count; i++) {
		emit(text, i > 0 ? SPAN(",[") : SPAN("["));
		emit_string(text, fields->list[i].name);
		emit(text, SPAN(","));
		emit_string(text, fields->list[i].value);
		emit(text, SPAN("]"));
	}
	emit(text, SPAN("]"));
}

static void
emit_body(struct text *text, struct span body)
{
	if (utf8_is_valid(body) &&
	    (body.len == 0 || memchr(body.ptr, '\0', body.len) == NULL)) {
		emit(text, SPAN(",\"body\":"));
		emit_string(text, body);
		return;
	}
	char *base64 = base64_encode(body);
	emit(text, SPAN(",\"body_base64\":\""));
	emit(text, span_str(base64));
	emit(text, SPAN("\""));
	free(base64);
}

static void
emit_answer(struct text *text, const struct answer *answer)
{
	if (answer == NULL) {
		emit(text, SPAN("null"));
		return;
	}
	emit(text, SPAN("{\"status\":"));
	emit_number(text, answer->status);
	emit(text, SPAN(",\"headers\":"));
	emit_headers(text, &answer->fields);
	emit_body(text, body_span(&answer->body));
	emit(text, SPAN("}"));
}

/* --- the event --- */

static void
emit_event(struct text *text, const struct relay_event *event)
{
	emit(text, SPAN("{\"id\":"));
	emit_string(text, event->id);
	emit(text, SPAN(",\"key_id\":"));
	emit_string(text, event->key_id);
	emit(text, SPAN(",\"route\":"));
	emit_string(text, event->route);
	emit(text, SPAN(",\"from\":"));
	emit_string(text, event->from);
	emit(text, SPAN(",\"to\":"));
	emit_string(text, event->to);
	emit(text, SPAN(",\"status\":"));
	if (event->status > 0)
		emit_number(text, event->status);
	else
		emit(text, SPAN("null"));
	emit(text, SPAN(",\"attempt\":"));
	emit_number(text, event->attempt);
	emit(text, SPAN(",\"time\":"));
	emit_time(text, event->time_ms);
	emit(text, SPAN(",\"instance\":"));
	emit_known(text, event->instance);
	emit(text, SPAN(",\"request_id\":"));
	emit_known(text, event->request_id);
	emit(text, SPAN(",\"label\":"));
	emit_known(text, event->label);
	emit(text, SPAN(",\"answer\":"));
	emit_answer(text, event->answer);
	emit(text, SPAN("}"));
}

static struct span
taken(struct arena *arena, struct text *text)
{
	struct span copy =
	    arena_dup(arena, span_of(text->bytes, text->len));
	free(text->bytes);
	return copy;
}

struct span
relay_text_event(struct arena *arena, const struct relay_event *event)
{
	struct text text = {NULL, 0, 0};
	emit_event(&text, event);
	return taken(arena, &text);
}

struct span
relay_text_events(struct arena *arena, const struct relay_batch *batch)
{
	struct text text = {NULL, 0, 0};
	emit(&text, SPAN("["));
	for (size_t i = 0; i < batch->n_events; i++) {
		if (i > 0)
			emit(&text, SPAN(","));
		emit_event(&text, &batch->events[i]);
	}
	emit(&text, SPAN("]"));
	return taken(arena, &text);
}
