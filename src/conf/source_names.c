/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

#include "base/digest.h"
#include "base/field.h"
#include "base/mem.h"
#include "conf/basic_user.h"
#include "conf/source_asks.h"
#include "conf/source_names.h"
#include "conf/token/token.h"

/* What the hashes of one list have in common. */
struct names {
	const struct conf_source *source;
	const char *secret, *salt;
	struct arena *arena;
	json_t *list;
};

/* NULL: the source does not set it. */
static const struct conf_header *
header_of(const struct conf_source *source, const char *name)
{
	for (size_t i = 0; i < source->request.n_headers; i++)
		if (!strcasecmp(source->request.headers[i].name, name))
			return &source->request.headers[i];
	return NULL;
}

/* A value, or with `varies` the text that each message's is made of. */
struct statement {
	struct span text;
	bool varies;
};

static struct statement
said_by(const struct names *names, const struct conf_header *header)
{
	struct statement said = {SPAN(""), false};
	if (!source_asks_header(names->source, header->name, &said.text)) {
		said.varies = true;
		said.text = span_str(header->value.text);
	}
	return said;
}

/* --- what it says of the tenant --- */

/* What cannot be read is what it is. */
static struct span
named_by_credentials(const struct names *names, const struct conf_scope *scope,
    struct span value)
{
	bool basic = scope->kind == SCOPE_BASIC;
	struct span token, named;
	if (!field_credentials(
		value, basic ? SPAN("Basic") : SPAN("Bearer"), &token))
		return SPAN("");
	bool read = basic
	    ? basic_user_read(names->arena, token, &named)
	    : token_claim(names->arena, scope->jwt, token, &named);
	return read ? named : value;
}

static struct statement
named_by(const struct names *names, const struct conf_scope *scope,
    const struct conf_header *header)
{
	struct statement said = said_by(names, header);
	if (!said.varies && scope->kind != SCOPE_HEADER)
		said.text = named_by_credentials(names, scope, said.text);
	return said;
}

/* --- the list --- */

static json_t *
hash_named(const struct names *names, const struct statement *said)
{
	char hex[DIGEST_HEX + 1];
	uint8_t hash[DIGEST_BYTES];
	struct digest digest;
	if (said->text.len == 0)
		return json_null();
	digest_begin(&digest, SPAN("named"), span_str(names->secret));
	digest_part(&digest, span_str(names->salt));
	digest_part(&digest, said->varies ? SPAN("varies") : SPAN("value"));
	digest_part(&digest, said->text);
	digest_end(&digest, hash);
	hex_encode(hash, sizeof hash, hex);
	return json_string(hex);
}

static json_t *
lower_text(const char *name)
{
	char *text = mem_text(name);
	for (char *p = text; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	json_t *json = json_string(text);
	free(text);
	return json;
}

static void
add_name(const struct names *names, const struct conf_route *route,
    const char *use, json_t *name, const struct conf_header *header,
    const struct statement *said)
{
	json_t *one = json_pack("{s:s, s:o, s:s?, s:s, s:o}", "use", use,
	    "name", name, "header", header != NULL ? header->name : NULL,
	    "route", route->name, "hash", hash_named(names, said));
	must(json_array_append_new(names->list, one) == 0);
}

/* Where nothing else can name the tenant, there is none without it. */
static void
add_tenant(const struct names *names, const struct conf_route *route,
    const struct conf_scope *scope)
{
	const char *field = scopes_header(scope);
	if (field == NULL)
		return;
	const struct conf_header *header =
	    header_of(names->source, field);
	struct statement said = {SPAN(""), false};
	if (header != NULL)
		said = named_by(names, scope, header);
	if (said.text.len == 0 && route->idempotency->scope.count == 1)
		return;
	char *text = scopes_name(scope);
	json_t *name = scope->kind == SCOPE_HEADER ? lower_text(text)
						   : json_string(text);
	add_name(names, route, "scope", name, header, &said);
	free(text);
}

static void
add_compared(const struct names *names, const struct conf_route *route,
    const char *field)
{
	const struct conf_header *header =
	    header_of(names->source, field);
	struct statement said = {SPAN(""), false};
	if (header != NULL)
		said = said_by(names, header);
	if (header != NULL && header->secret != NULL && names->secret == NULL)
		return;
	add_name(names, route, "fingerprint.headers", lower_text(field), header,
	    &said);
}

static void
add_route(const struct names *names, const struct conf_route *route)
{
	const struct conf_idempotency *policy = route->idempotency;
	if (policy == NULL || route->observes)
		return;
	for (size_t i = 0; i < policy->scope.count; i++)
		add_tenant(names, route, &policy->scope.list[i]);
	for (size_t i = 0; i < policy->fingerprint_headers.count; i++)
		add_compared(names, route, policy->fingerprint_headers.list[i]);
}

json_t *
source_names_show(const struct conf *conf, const struct conf_source *source,
    const char *secret, const char *salt)
{
	const struct conf_route *route;
	struct names names = {source, secret, salt, arena_new(), json_array()};
	size_t at = 0;
	while ((route = source_asks_route(conf, source, &at)) != NULL)
		add_route(&names, route);
	arena_free(&names.arena);
	return names.list;
}
