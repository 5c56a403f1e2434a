/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/load/certificates.h"
#include "conf/load/object_private.h"
#include "conf/load/rule_private.h"
#include "conf/load/text_private.h"
#include "conf/load/url_private.h"
#include "conf/token/token_set.h"

/* One of an object's members says what kind of scope it is. */
static void
read_kind(struct loader *l, const struct json_place *at,
    struct conf_scope *scope)
{
	const bool is[] = {[SCOPE_BASIC] = scope->basic,
	    [SCOPE_PATH] = scope->path != NULL,
	    [SCOPE_CERTIFICATE] = scope->certificate != CERTIFICATE_NONE,
	    [SCOPE_JWT] = scope->jwt != NULL};
	unsigned kinds = 0;
	for (unsigned kind = 0; kind < sizeof is / sizeof *is; kind++) {
		if (is[kind])
			scope->kind = (enum scope_kind)kind;
		kinds += is[kind];
	}
	if (kinds != 1)
		complaints_at(l, at,
		    "must have exactly one of \"basic\", \"path\", "
		    "\"certificate\" and \"jwt\"");
}

/* What verifies the token; of another kind, what only a token has. */
static void
read_token_keys(struct loader *l, const struct json_place *at,
    struct conf_scope *scope)
{
	const struct {
		const char *path, *text;
	} all[] = {{"keys", scope->keys},
	    {"ca", scope->ca},
	    {"issuer", scope->issuer},
	    {"audience", scope->audience}};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (scope->kind != SCOPE_JWT && all[i].text != NULL)
			complaints_at_member(l, at, all[i].path,
			    "only \"jwt\" can have this");
	if (scope->kind != SCOPE_JWT)
		return;
	if (scope->keys == NULL) {
		complaints_at_member(l, at, "jwt",
		    "\"keys\" is needed too: the file or the URL with what "
		    "verifies the token");
		return;
	}
	bool url = token_set_is_url(scope->keys);
	struct conf_target target = {.tls = url};
	const struct conf_upstream server = {
	    .targets = &target, .n_targets = 1, .ca = scope->ca};
	certificates_check_upstream(l, at, &server);
	if (scope->ca != NULL && !url)
		complaints_at_member(
		    l, at, "ca", "only a URL of keys can have this");
	char *wrong = url ? mem_text(url_wrong_keys(l, scope->keys)) : NULL;
	if (wrong == NULL)
		scope->set = token_set_new(scope->keys, scope->ca, &wrong);
	if (wrong != NULL)
		complaints_at_member(l, at, "keys", "%s", wrong);
	else
		loader_own(l, scope->set, token_set_free);
	free(wrong);
}

/*
 * A tenant that is named by what the upstream never sees, or does not see as it
 * came, could be given another's answer.
 */
static void
read_scope(struct loader *l, const struct json_place *at, json_t *value,
    struct conf_scope *scope)
{
	size_t before = l->complaints->count;
	const char *name = json_string_value(json_object_get(value, "header"));
	/* {"header": NAME} for the name alone. */
	if (name != NULL && json_object_size(value) == 1 &&
	    rule_of[TYPE_FIELDS].wrong(name) == NULL && !rule_is_ours(name)) {
		complaints_at(l, at, "a header is its name alone; did you mean "
		    "\"%s\"?", name);
	} else if (text_is_one(value)) {
		scope->kind = SCOPE_HEADER;
		scope->header = text_read_as(l, at, value, TYPE_FIELDS);
		if (scope->header != NULL && rule_is_ours(scope->header))
			complaints_at(l, at, "the gateway removes this header "
			    "or writes it itself: it cannot tell tenants "
			    "apart");
	} else if (json_is_object(value)) {
		object_load(l, GROUP_SCOPE, at, value, scope);
		if (l->complaints->count == before)
			read_kind(l, at, scope);
		if (l->complaints->count == before)
			read_token_keys(l, at, scope);
	} else {
		complaints_at(
		    l, at, "must be the name of a header, or an object");
	}
}

/* What names the tenant (conf/scopes.h). */
void
list_scope_parse(struct loader *l, const struct given *given)
{
	size_t count = json_array_size(given->value);
	struct conf_scopes scopes = {
	    loader_alloc(l, count * sizeof *scopes.list), 0};
	for (size_t i = 0; i < count; i++) {
		struct json_place at = {given->at, NULL, i};
		struct conf_scope scope = {.index = i};
		size_t before = l->complaints->count;
		read_scope(l, &at, json_array_get(given->value, i), &scope);
		if (l->complaints->count > before)
			continue;
		for (size_t k = 0; k < scopes.count; k++)
			if (scopes_same(&scopes.list[k], &scope))
				complaints_at(l, &at, "appears twice");
		if (l->complaints->count == before)
			scopes.list[scopes.count++] = scope;
	}
	*(struct conf_scopes *)given->field = scopes;
}
