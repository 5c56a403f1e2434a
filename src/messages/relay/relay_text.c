/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <sodium.h>
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

/* What is no UTF-8 is read as Latin-1; a NUL is left out. */
static void
emit_string(struct text *text, struct span s)
{
	bool utf8 = utf8_is_valid(s);
	size_t from = 0;
	char other[8];
	emit(text, SPAN("\""));
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		bool plain = c >= 0x20 && c != '"' && c != '\\' && c != 0x7f;
		size_t len = 0;
		if (plain && (utf8 || c < 0x80))
			continue;
		emit(text, span_of(s.ptr + from, i - from));
		from = i + 1;
		if (plain)
			len = utf8_put(c, other);
		else if (c == '"' || c == '\\')
			len = (size_t)snprintf(other, sizeof other, "\\%c", c);
		else if (c != '\0')
			len = (size_t)snprintf(
			    other, sizeof other, "\\u%04x", (unsigned)c);
		emit(text, span_of(other, len));
	}
	emit(text, span_from(s, from));
	emit(text, SPAN("\""));
}

/* --- the stored answer --- */

static void
emit_answer(struct text *text, const struct answer *answer)
{
	if (answer == NULL) {
		emit(text, SPAN("null"));
		return;
	}
	struct span body = body_span(&answer->body);
	emit(text, SPAN("{\"status\":"));
	emit_number(text, answer->status);
	emit(text, SPAN(",\"headers\":["));
	for (size_t i = 0; i < answer->fields.count; i++) {
		emit(text, i > 0 ? SPAN(",[") : SPAN("["));
		emit_string(text, answer->fields.list[i].name);
		emit(text, SPAN(","));
		emit_string(text, answer->fields.list[i].value);
		emit(text, SPAN("]"));
	}
	if (utf8_is_valid(body) &&
	    (body.len == 0 || memchr(body.ptr, '\0', body.len) == NULL)) {
		emit(text, SPAN("],\"body\":"));
		emit_string(text, body);
	} else {
		char *base64 = base64_encode(body);
		emit(text, SPAN("],\"body_base64\":\""));
		emit(text, span_str(base64));
		emit(text, SPAN("\""));
		free(base64);
	}
	emit(text, SPAN("}"));
}

/* --- the event --- */

static void
emit_event(struct text *text, const struct relay_event *event)
{
	const struct {
		struct span name, value;
	} first[] = {{SPAN("{\"id\":"), event->id},
	    {SPAN(",\"key_id\":"), event->key_id},
	    {SPAN(",\"route\":"), event->route},
	    {SPAN(",\"from\":"), event->from}, {SPAN(",\"to\":"), event->to}},
	  last[] = {{SPAN(",\"instance\":"), event->instance},
	      {SPAN(",\"request_id\":"), event->request_id},
	      {SPAN(",\"label\":"), event->label}};
	char time[RFC3339_MAX];
	for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
		emit(text, first[i].name);
		emit_string(text, first[i].value);
	}
	emit(text, SPAN(",\"status\":"));
	if (event->status > 0)
		emit_number(text, event->status);
	else
		emit(text, SPAN("null"));
	emit(text, SPAN(",\"attempt\":"));
	emit_number(text, event->attempt);
	emit(text, SPAN(",\"time\":\""));
	emit(text, span_str(rfc3339_write(event->time_ms, time)));
	emit(text, SPAN("\""));
	for (size_t i = 0; i < sizeof last / sizeof *last; i++) {
		emit(text, last[i].name);
		if (last[i].value.ptr != NULL)
			emit_string(text, last[i].value);
		else
			emit(text, SPAN("null"));
	}
	emit(text, SPAN(",\"answer\":"));
	emit_answer(text, event->answer);
	emit(text, SPAN("}"));
}

struct span
relay_text_event(struct arena *arena, const struct relay_event *event)
{
	struct text text = {NULL, 0, 0};
	emit_event(&text, event);
	struct span copy = arena_dup(arena, span_of(text.bytes, text.len));
	free(text.bytes);
	return copy;
}

/* --- signatures --- */

enum {
	/* Of the longer of both, an Ed25519 signature. */
	BASE64_CHARS = sodium_base64_ENCODED_LEN(
	    crypto_sign_BYTES, sodium_base64_VARIANT_ORIGINAL),
};

/* What one secret says of it. */
static struct span
sign(struct arena *arena, const struct conf_webhook_secret *secret,
    struct span content)
{
	const uint8_t *bytes = (const uint8_t *)content.ptr;
	uint8_t signature[crypto_sign_BYTES];
	size_t len = crypto_auth_hmacsha256_BYTES;
	char text[BASE64_CHARS];
	if (secret->ed25519) {
		uint8_t public_key[crypto_sign_PUBLICKEYBYTES];
		uint8_t secret_key[crypto_sign_SECRETKEYBYTES];
		must(secret->len == crypto_sign_SEEDBYTES);
		crypto_sign_seed_keypair(public_key, secret_key, secret->key);
		crypto_sign_detached(
		    signature, NULL, bytes, content.len, secret_key);
		sodium_memzero(secret_key, sizeof secret_key);
		len = crypto_sign_BYTES;
	} else {
		crypto_auth_hmacsha256_state state;
		crypto_auth_hmacsha256_init(&state, secret->key, secret->len);
		crypto_auth_hmacsha256_update(&state, bytes, content.len);
		crypto_auth_hmacsha256_final(&state, signature);
		sodium_memzero(&state, sizeof state);
	}
	sodium_bin2base64(text, sizeof text, signature, len,
	    sodium_base64_VARIANT_ORIGINAL);
	return arena_printf(
	    arena, "%s,%s", secret->ed25519 ? "v1a" : "v1", text);
}

struct span
relay_text_signature(struct arena *arena,
    const struct conf_webhook_secret *secrets, size_t n_secrets,
    struct span id, int64_t time_s, struct span body)
{
	struct span head =
	    arena_printf(arena, "%.*s.%" PRId64 ".", SPAN_FMT(id), time_s);
	char *content = arena_alloc(arena, head.len + body.len + 1);
	struct span all = SPAN("");
	memcpy(content, head.ptr, head.len);
	memcpy(content + head.len, body.ptr, body.len);
	for (size_t i = 0; i < n_secrets; i++) {
		struct span one = sign(arena, &secrets[i],
		    span_of(content, head.len + body.len));
		all = arena_printf(arena, "%.*s%s%.*s", SPAN_FMT(all),
		    i > 0 ? " " : "", SPAN_FMT(one));
	}
	return all;
}
