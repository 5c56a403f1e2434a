/* SPDX-License-Identifier: BSD-2-Clause */
#include <sodium.h>

#include "operators/admin/admin_answer.h"
#include "operators/admin/admin_machine_private.h"
#include "operators/admin/admin_page.h"

/* The text between two tags, each of which the page has once. */
static struct span
part(const char *begin, const char *end)
{
	const char *from = strstr(admin_page_text, begin);
	must(from != NULL);
	from += strlen(begin);
	const char *to = strstr(from, end);
	must(to != NULL);
	return span_of(from, (size_t)(to - from));
}

/* 'sha256-…', as Content-Security-Policy names an inline element. */
static struct span
source_of(struct arena *arena, struct span element)
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	char text[sodium_base64_ENCODED_LEN(
	    sizeof hash, sodium_base64_VARIANT_ORIGINAL)];
	crypto_hash_sha256(
	    hash, (const unsigned char *)element.ptr, element.len);
	sodium_bin2base64(text, sizeof text, hash, sizeof hash,
	    sodium_base64_VARIANT_ORIGINAL);
	return arena_printf(arena, "'sha256-%s'", text);
}

/*
 * The page's own script and style run and nothing else does, nothing is loaded
 * from elsewhere, no text becomes markup, and nobody frames it.
 */
static struct span
content_policy(struct arena *arena)
{
	struct span style = source_of(arena, part("<style>", "</style>"));
	struct span script = source_of(arena, part("<script>", "</script>"));
	return arena_printf(arena,
	    "default-src 'none'; script-src %.*s; style-src %.*s; "
	    "img-src data:; connect-src 'self'; base-uri 'none'; "
	    "form-action 'none'; frame-ancestors 'none'; "
	    "require-trusted-types-for 'script'; trusted-types 'none'",
	    SPAN_FMT(script), SPAN_FMT(style));
}

static enum after
answer_page(struct admin_request *a, int status)
{
	struct field also[] = {
	    {SPAN("Content-Security-Policy"), content_policy(a->arena)},
	    {SPAN("Referrer-Policy"), SPAN("no-referrer")},
	    {SPAN("Cross-Origin-Opener-Policy"), SPAN("same-origin")},
	    {SPAN("Cross-Origin-Resource-Policy"), SPAN("same-origin")},
	};
	struct body body;
	body_init(&body, NULL);
	must(body_append(&body, admin_page_text, strlen(admin_page_text)) ==
	    0);
	return admin_answer_bytes(a, status, SPAN("text/html; charset=utf-8"),
	    (struct fields){also, sizeof also / sizeof *also}, &body);
}

enum after
admin_page(struct admin_request *a)
{
	return answer_page(a, 200);
}

enum after
admin_page_without_token(struct admin_request *a)
{
	return answer_page(a, 401);
}
