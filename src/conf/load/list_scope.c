/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/load/choice_private.h"
#include "conf/load/complaints_private.h"
#include "conf/load/list_private.h"
#include "conf/load/object_private.h"
#include "conf/load/text_private.h"
#include "conf/token/token_file.h"

/*
 * A tenant that is named by what the upstream never sees, or does not see as it
 * came, could be given another's answer.
 */
static void
read_header(struct loader *l, const struct json_place *at, const json_t *value,
    struct conf_scope *scope)
{
	char *text = text_read(l, at, value);
	const char *wrong = text != NULL ? text_wrong_field(text) : NULL;
	if (text != NULL && wrong == NULL && text_is_ours(text))
		wrong = "the gateway removes this header or writes it itself: "
			"it cannot tell tenants apart";
	if (wrong != NULL) {
		complaints_at(l, at, "%s", wrong);
		text_free(&text);
	}
	scope->kind = SCOPE_HEADER;
	scope->header = text;
}

/* One of an object's members says what kind of scope it is. */
static void
read_kind(struct loader *l, const struct json_place *at,
    struct conf_scope *scope)
{
	int kinds = 0;
	if (scope->basic) {
		scope->kind = SCOPE_BASIC;
		kinds++;
	}
	if (scope->path != NULL) {
		scope->kind = SCOPE_PATH;
		kinds++;
	}
	if (scope->certificate != CERTIFICATE_NONE) {
		scope->kind = SCOPE_CERTIFICATE;
		kinds++;
	}
	if (scope->jwt != NULL) {
		scope->kind = SCOPE_JWT;
		kinds++;
	}
	if (kinds != 1)
		complaints_at(l, at,
		    "must have exactly one of \"basic\", \"path\", "
		    "\"certificate\" and \"jwt\"");
}

#define SCOPE_OPTION(field) \
	option_at(GROUP_SCOPE, offsetof(struct conf_scope, field))

/* Of another kind than a token, what only a token has. */
static void
check_token_only(struct loader *l, const struct json_place *at,
    const struct conf_scope *scope)
{
	static const char message[] = "only \"jwt\" can have this";
	if (scope->keys != NULL)
		complaints_at_option(
		    l, at, SCOPE_OPTION(keys), "%s", message);
	if (scope->issuer != NULL)
		complaints_at_option(
		    l, at, SCOPE_OPTION(issuer), "%s", message);
	if (scope->audience != NULL)
		complaints_at_option(
		    l, at, SCOPE_OPTION(audience), "%s", message);
}

static void
read_token_keys(struct loader *l, const struct json_place *at,
    struct conf_scope *scope)
{
	char *wrong = NULL;
	if (scope->kind != SCOPE_JWT) {
		check_token_only(l, at, scope);
		return;
	}
	if (scope->keys == NULL) {
		complaints_at_option(l, at, SCOPE_OPTION(jwt),
		    "\"keys\" is needed too: the file with what verifies the "
		    "token");
		return;
	}
	if (strstr(scope->keys, "://") != NULL) {
		complaints_at_option(l, at, SCOPE_OPTION(keys),
		    "must be a file, which is read again when it changes: no "
		    "URL is fetched");
		return;
	}
	scope->file = token_file_new(scope->keys, &wrong);
	if (scope->file == NULL)
		complaints_at_option(
		    l, at, SCOPE_OPTION(keys), "%s", wrong);
	free(wrong);
}

static void
read_object(struct loader *l, const struct json_place *at, json_t *value,
    struct conf_scope *scope)
{
	size_t before = l->complaints->count;
	object_load_presets(l, GROUP_SCOPE, scope);
	object_load(l, GROUP_SCOPE, at, value, scope);
	if (l->complaints->count == before)
		read_kind(l, at, scope);
	if (l->complaints->count == before)
		read_token_keys(l, at, scope);
}

/* {"header": NAME} for the name alone. */
static bool
say_header(struct loader *l, const struct json_place *at, const json_t *value)
{
	const char *name =
	    json_string_value(json_object_get(value, "header"));
	if (name == NULL || json_object_size(value) != 1 ||
	    text_wrong_field(name) != NULL || text_is_ours(name))
		return false;
	complaints_at(l, at, "a header is its name alone; did you mean "
	    "\"%s\"?", name);
	return true;
}

static void
read_scope(struct loader *l, const struct json_place *at, json_t *value,
    struct conf_scope *scope)
{
	if (text_is_one(value))
		read_header(l, at, value, scope);
	else if (say_header(l, at, value))
		return;
	else if (json_is_object(value))
		read_object(l, at, value, scope);
	else
		complaints_at(
		    l, at, "must be the name of a header, or an object");
}

static void
clear_scope(struct conf_scope *scope)
{
	token_file_free(&scope->file);
	object_clear(GROUP_SCOPE, scope);
	text_free(&scope->header);
}

static bool
repeats(const struct conf_scopes *scopes, const struct conf_scope *scope)
{
	for (size_t i = 0; i < scopes->count; i++)
		if (scopes_same(&scopes->list[i], scope))
			return true;
	return false;
}

/* Adds what was read well. */
static void
add_scope(struct loader *l, const struct json_place *at, json_t *value,
    struct conf_scopes *scopes)
{
	struct conf_scope scope = {.index = at->index};
	size_t before = l->complaints->count;
	read_scope(l, at, value, &scope);
	if (l->complaints->count == before && repeats(scopes, &scope))
		complaints_at(l, at, "appears twice");
	if (l->complaints->count != before) {
		clear_scope(&scope);
		return;
	}
	scopes->list = mem_grow(
	    scopes->list, (scopes->count + 1) * sizeof *scopes->list);
	scopes->list[scopes->count++] = scope;
}

void
list_scope_parse(struct loader *l, const struct given *given)
{
	struct conf_scopes scopes = {NULL, 0};
	if (!json_is_array(given->value)) {
		complaints_at(l, given->at, "must be a list of headers' names "
		    "and of objects, like [\"Authorization\"] or [{...}]");
		return;
	}
	for (size_t i = 0; i < json_array_size(given->value); i++) {
		struct json_place at = {given->at, NULL, i};
		add_scope(l, &at, json_array_get(given->value, i), &scopes);
	}
	list_scope_clear(NULL, given_field(given));
	*(struct conf_scopes *)given_field(given) = scopes;
}

void
list_scope_clear(void *base, void *field)
{
	struct conf_scopes *scopes = field;
	(void)base;
	for (size_t i = 0; i < scopes->count; i++)
		clear_scope(&scopes->list[i]);
	free(scopes->list);
	*scopes = (struct conf_scopes){NULL, 0};
}
