/* SPDX-License-Identifier: BSD-2-Clause */
#include <sodium.h>

#include "operators/admin/admin_answer.h"
#include "operators/admin/admin_page.h"
#include "operators/admin/admin_private.h"

/*
 * The element between two tags, each of which the page has once, as
 * Content-Security-Policy names an inline element: 'sha256-…'.
 */
static struct span
source_of(struct arena *arena, const char *begin, const char *end)
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	char text[sodium_base64_ENCODED_LEN(
	    sizeof hash, sodium_base64_VARIANT_ORIGINAL)];
	const char *from = strstr(admin_page_text, begin);
	must(from != NULL);
	from += strlen(begin);
	const char *to = strstr(from, end);
	must(to != NULL);
	crypto_hash_sha256(
	    hash, (const unsigned char *)from, (size_t)(to - from));
	sodium_bin2base64(text, sizeof text, hash, sizeof hash,
	    sodium_base64_VARIANT_ORIGINAL);
	return arena_printf(arena, "'sha256-%s'", text);
}

enum after
admin_page(struct admin_request *a)
{
	struct span style = source_of(a->arena, "<style>", "</style>");
	struct span script = source_of(a->arena, "<script>", "</script>");
	/*
	 * The page's own script and style run and nothing else does, nothing
	 * is loaded from elsewhere, no text becomes markup, and nobody frames
	 * it.
	 */
	struct span policy = arena_printf(a->arena,
	    "default-src 'none'; script-src %.*s; style-src %.*s; "
	    "img-src data:; connect-src 'self'; base-uri 'none'; "
	    "form-action 'none'; frame-ancestors 'none'; "
	    "require-trusted-types-for 'script'; trusted-types 'none'",
	    SPAN_FMT(script), SPAN_FMT(style));
	const struct field fields[] = {
	    {SPAN("Content-Security-Policy"), policy},
	    {SPAN("Referrer-Policy"), SPAN("no-referrer")},
	    {SPAN("Cross-Origin-Opener-Policy"), SPAN("same-origin")},
	    {SPAN("Cross-Origin-Resource-Policy"), SPAN("same-origin")},
	};
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		a->more[a->n_more++] = fields[i];
	struct body body = {0};
	must(body_append(&body, admin_page_text, strlen(admin_page_text)) ==
	    0);
	/* No endpoint was looked for where the token is missing. */
	return admin_answer_bytes(a, a->endpoint != NULL ? 200 : 401,
	    SPAN("text/html; charset=utf-8"), &body);
}
