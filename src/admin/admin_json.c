/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "admin/admin_json.h"
#include "admin/admin_machine_private.h"
#include "base/base64.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "base/utf8.h"
#include "key/entity.h"
#include "key/key.h"
#include "key/scope.h"
#include "key/variables.h"

enum { NOTE_BYTES = 1000, ATTEMPT_MAX = 999999 };

/* --- out --- */

const char *
admin_json_state(enum record_state state)
{
	static const char *const words[] = {
#define STATE(name, letter, ...) #name,
#include "tbl/states.h"
#undef STATE
	};
	return words[state];
}

json_t *
admin_json_time(int64_t wall_ms)
{
	time_t seconds = (time_t)(wall_ms / 1000);
	struct tm tm;
	char text[40];
	must(gmtime_r(&seconds, &tm) != NULL);
	size_t len = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + len, sizeof text - len, ".%03dZ",
	    (int)(wall_ms % 1000));
	return json_string(text);
}

static void
set_member(json_t *object, const char *name, json_t *value)
{
	must(json_object_set_new(object, name, value) == 0);
}

json_t *
admin_json_text(struct span text)
{
	if (utf8_is_valid(text))
		return json_stringn(text.ptr, text.len);
	char *copy = mem_zero(2 * text.len + 1);
	size_t len = 0;
	for (size_t i = 0; i < text.len; i++)
		len += utf8_put((unsigned char)text.ptr[i], copy + len);
	json_t *json = json_stringn(copy, len);
	free(copy);
	return json;
}

static json_t *
base64_json(struct span bytes)
{
	char *text = base64_text(bytes);
	json_t *json = json_string(text);
	free(text);
	return json;
}

static void
put_stored(json_t *object, const struct answer *answer)
{
	json_t *headers = json_array();
	for (size_t i = 0; i < answer->fields.count; i++) {
		const struct field *field = &answer->fields.list[i];
		json_t *pair = json_array();
		json_array_append_new(pair, admin_json_text(field->name));
		json_array_append_new(pair, admin_json_text(field->value));
		json_array_append_new(headers, pair);
	}
	set_member(object, "headers", headers);
	struct span body = body_span(&answer->body);
	if (utf8_is_valid(body))
		set_member(object, "body", json_stringn(body.ptr, body.len));
	else
		set_member(object, "body_base64", base64_json(body));
}

json_t *
admin_json_record(const struct record_view *record,
    const struct answer *answer, bool with_body)
{
	char hex[DIGEST_HEX + 1];
	hex_encode(record->key_id.bytes, DIGEST_BYTES, hex);
	json_t *json = json_object();
	set_member(json, "key_id", json_string(hex));
	set_member(json, "state", json_string(admin_json_state(record->state)));
	set_member(json, "attempt", json_integer(record->attempt));
	if (record->route.len > 0)
		set_member(json, "route", admin_json_text(record->route));
	if (record->owner.len > 0)
		set_member(json, "owner", admin_json_text(record->owner));
	set_member(json, "created", admin_json_time(record->created_ms));
	set_member(json, "changed", admin_json_time(record->changed_ms));
	if (record->state == STATE_PROCESSING)
		set_member(json, "lease_until",
		    admin_json_time(record->lease_until_ms));
	if (record->expires_ms > 0)
		set_member(
		    json, "expires", admin_json_time(record->expires_ms));
	if (record->state == STATE_UNKNOWN && record->reason != REASON_NONE)
		set_member(json, "reason",
		    json_string(reason_word(record->reason)));
	if (record->state != STATE_COMPLETED || answer == NULL)
		return json;
	set_member(json, "status", json_integer(answer->status));
	if (answer->not_kept)
		return json;
	set_member(json, "bytes", json_integer((json_int_t)answer->body.len));
	if (with_body)
		put_stored(json, answer);
	return json;
}

json_t *
admin_json_shown(const struct records_op *look, bool with_body)
{
	json_t *json =
	    admin_json_record(&look->record, look->op.answer, with_body);
	if (look->unreadable != NULL)
		set_member(json, "unreadable", json_string(look->unreadable));
	return json;
}

/* --- in --- */

static struct span
string_of(const json_t *json)
{
	return span_of(json_string_value(json), json_string_length(json));
}

/* It has no members but those: any other would be overlooked. */
static bool
has_only(const json_t *object, const char *const *names, size_t count)
{
	void *at = json_object_iter((json_t *)(uintptr_t)object);
	for (; at != NULL; at = json_object_iter_next(
		 (json_t *)(uintptr_t)object, at)) {
		size_t i = 0;
		while (i < count &&
		    strcmp(names[i], json_object_iter_key(at)) != 0)
			i++;
		if (i == count)
			return false;
	}
	return true;
}

#define HAS_ONLY(object, names)                                               \
	has_only(object, names, sizeof(names) / sizeof *(names))

static const char *
take_note(struct admin_request *a)
{
	const json_t *note = json_object_get(a->in, "note");
	if (note == NULL || json_is_null(note))
		return NULL;
	if (!json_is_string(note) || json_string_length(note) > NOTE_BYTES)
		return "\"note\" must be a string of at most 1000 bytes.";
	a->note = string_of(note);
	return NULL;
}

/* Which attempt is meant: since then a retry may have made another. */
static const char *
take_attempt(struct admin_request *a)
{
	const json_t *attempt = json_object_get(a->in, "attempt");
	if (attempt == NULL || json_is_null(attempt))
		return NULL;
	if (!json_is_integer(attempt) || json_integer_value(attempt) < 1 ||
	    json_integer_value(attempt) > ATTEMPT_MAX)
		return "\"attempt\" must be a number from 1 to 999999.";
	a->attempt = (uint32_t)json_integer_value(attempt);
	return NULL;
}

const char *
admin_json_read_act(struct admin_request *a)
{
	static const char *const names[] = {"attempt", "note"};
	if (a->in == NULL)
		return NULL;
	if (!HAS_ONLY(a->in, names))
		return "The body may have only the members \"attempt\" and "
		       "\"note\".";
	const char *message = take_attempt(a);
	return message != NULL ? message : take_note(a);
}

const char *
admin_json_read_note(struct admin_request *a)
{
	static const char *const names[] = {"note"};
	if (a->in != NULL && !HAS_ONLY(a->in, names))
		return "The body may have only the member \"note\".";
	return take_note(a);
}

/* It is no field of one connection, and none that the gateway sets itself. */
static bool
may_be_stored(struct span name)
{
	static const char *const others[] = {"Connection", "Content-Length",
	    "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate",
	    "Proxy-Authorization", "TE", "Trailer", "Transfer-Encoding",
	    "Upgrade", "X-Request-Id", "Original-Request-Id",
	    "Idempotency-Outcome"};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (span_ieq(name, span_str(others[i])))
			return false;
	return true;
}

static const char *
header_from_json(struct fields *fields, struct span name, const json_t *value)
{
	if (!json_is_string(value))
		return "A header's value must be a string.";
	struct field field = {name, span_trim(string_of(value))};
	if ((!field_is_token(field.name) || !field_is_value(field.value)) &&
	    INVARIANT(operators_fields))
		return "\"headers\" has a name or a value that is not valid "
		       "in a response.";
	if (!may_be_stored(field.name))
		return "\"headers\" has a field that cannot be stored: it "
		       "belongs to framing or to the connection, or the "
		       "gateway sets it.";
	fields->list[fields->count++] = field;
	return NULL;
}

/* An object, or a list of pairs. */
static const char *
headers_from_json(struct admin_request *a, json_t *headers)
{
	struct fields *fields = &a->outcome.fields;
	const char *message = NULL;
	size_t count = json_is_object(headers) ? json_object_size(headers)
					       : json_array_size(headers);
	if (headers == NULL)
		return NULL;
	if (!json_is_object(headers) && !json_is_array(headers))
		return "\"headers\" must be an object or a list of pairs.";
	if (count > HEAD_CHECK_FIELDS_MAX)
		return "There are more than 100 headers.";
	fields->list =
	    arena_alloc(a->arena, (count + 1) * sizeof(struct field));
	if (json_is_object(headers)) {
		const char *name;
		json_t *value;
		json_object_foreach(headers, name, value)
			if (message == NULL)
				message = header_from_json(
				    fields, span_str(name), value);
		return message;
	}
	for (size_t i = 0; i < count && message == NULL; i++) {
		const json_t *pair = json_array_get(headers, i);
		const json_t *name = json_array_get(pair, 0);
		if (json_array_size(pair) != 2 || !json_is_string(name))
			return "A header must be a list of its name and its "
			       "value.";
		message = header_from_json(
		    fields, string_of(name), json_array_get(pair, 1));
	}
	return message;
}

static const char *
take_body(struct admin_request *a)
{
	const json_t *text = json_object_get(a->in, "body");
	const json_t *base64 = json_object_get(a->in, "body_base64");
	if (text != NULL && base64 != NULL)
		return "\"body\" and \"body_base64\" cannot both be given.";
	if ((text != NULL && !json_is_string(text)) ||
	    (base64 != NULL && !json_is_string(base64)))
		return "The body must be a string.";
	a->outcome.body = text != NULL ? string_of(text) : SPAN("");
	if (base64 == NULL)
		return NULL;
	struct span in = string_of(base64);
	unsigned char *bytes = arena_alloc(a->arena, in.len + 1);
	size_t len;
	if (sodium_base642bin(bytes, in.len + 1, in.ptr, in.len, NULL, &len,
		NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
		return "\"body_base64\" is not base64 (RFC 4648, section 4).";
	a->outcome.body = span_of(bytes, len);
	return NULL;
}

const char *
admin_json_read_outcome(struct admin_request *a)
{
	static const char *const names[] = {
	    "status", "headers", "body", "body_base64", "attempt", "note"};
	const json_t *status = json_object_get(a->in, "status");
	if (!HAS_ONLY(a->in, names))
		return "The body may have only the members \"status\", "
		       "\"headers\", \"body\" or \"body_base64\", \"attempt\" "
		       "and \"note\".";
	if (!json_is_integer(status) || json_integer_value(status) < 200 ||
	    json_integer_value(status) > 599)
		return "\"status\" must be a number from 200 to 599.";
	a->outcome.status = (int)json_integer_value(status);
	const char *message = take_attempt(a);
	if (message == NULL)
		message = take_note(a);
	if (message == NULL)
		message =
		    headers_from_json(a, json_object_get(a->in, "headers"));
	if (message == NULL)
		message = take_body(a);
	if (message == NULL && a->outcome.body.len > 0 &&
	    (a->outcome.status == 204 || a->outcome.status == 205 ||
		a->outcome.status == 304))
		message = "A response with this status has no body.";
	return message;
}

/* --- which record a key has --- */

/* As a client's field says it: a quoted string stands for what it quotes. */
static struct span
key_bytes(struct admin_request *a, const struct conf_idempotency *policy,
    struct span text)
{
	struct field field = {span_str(policy->headers.list[0]), text};
	struct fields fields = {&field, 1};
	struct key key;
	if (text.len > 0 && text.ptr[0] == '"' &&
	    key_find(a->arena, policy, &fields, &key) == KEY_FOUND)
		return key.bytes;
	return text;
}

static bool
is_of_scope(const struct conf_idempotency *policy, struct span name)
{
	for (size_t i = 0; i < policy->scope.count; i++)
		if (span_ieq(span_str(policy->scope.list[i]), name))
			return true;
	return false;
}

/* The values of a scope, if it is one that this policy's requests have. */
static bool
fits(const struct conf_idempotency *policy, const struct fields *scope,
    struct span *values)
{
	for (size_t i = 0; i < scope->count; i++)
		if (!is_of_scope(policy, scope->list[i].name))
			return false;
	return scope_find(policy, scope, values) == SCOPE_FOUND;
}

static void
add_candidate(struct admin_request *a, const struct key_id *key_id)
{
	for (size_t i = 0; i < a->n_others; i++)
		if (!memcmp(&a->others[i], key_id, sizeof *key_id))
			return;
	a->others[a->n_others++] = *key_id;
}

/* On a cluster the record is where its entity is. */
static void
share_shard(struct admin_request *a, const struct conf_idempotency *policy,
    const struct span *scope, struct span value, struct key_id *key_id)
{
	struct store_entity entity = {0};
	if (a->conf->store.redis.cluster.count == 0)
		return;
	entity_name_by_path(a->admin->conf, policy, scope, value, entity.name);
	entity_share_shard(&entity, key_id);
}

/* Routes of one namespace may have scopes of their own. */
static void
find_candidates(struct admin_request *a, struct span namespace,
    const struct fields *scope, struct span text)
{
	const struct conf *conf = a->conf;
	a->others = arena_alloc(
	    a->arena, (conf->n_routes + 1) * sizeof *a->others);
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_idempotency *policy =
		    conf->routes[i].idempotency;
		struct span entity;
		if (policy == NULL ||
		    !variables_fit_namespace(
			a->arena, policy, namespace, &entity))
			continue;
		struct span *values = arena_alloc(a->arena,
		    (policy->scope.count + 1) * sizeof *values);
		if (!fits(policy, scope, values))
			continue;
		struct key_id key_id;
		key_id_make(a->admin->conf, namespace, &policy->scope,
		    values, key_bytes(a, policy, text), &key_id);
		if (entity.len > 0)
			share_shard(a, policy, values, entity, &key_id);
		add_candidate(a, &key_id);
	}
}

static const char *
scope_from_json(
    struct admin_request *a, json_t *scope, struct fields *ret_fields)
{
	struct fields fields = {
	    arena_alloc(a->arena,
		(json_object_size(scope) + 1) * sizeof(struct field)),
	    0};
	const char *name;
	json_t *value;
	if (scope != NULL && !json_is_object(scope))
		return "\"scope\" must be an object of header names and their "
		       "values.";
	json_object_foreach(scope, name, value) {
		if (!json_is_string(value))
			return "A value of \"scope\" must be a string.";
		fields.list[fields.count++] = (struct field){
		    span_str(name), span_trim(string_of(value))};
	}
	*ret_fields = fields;
	return NULL;
}

const char *
admin_json_read_lookup(struct admin_request *a)
{
	static const char *const names[] = {"namespace", "key", "scope"};
	const json_t *namespace = json_object_get(a->in, "namespace");
	const json_t *key = json_object_get(a->in, "key");
	struct fields scope;
	if (!HAS_ONLY(a->in, names))
		return "The body may have only the members \"namespace\", "
		       "\"key\" and \"scope\".";
	if (!json_is_string(key) || json_string_length(key) == 0)
		return "\"key\" must be a string that is not empty.";
	if (namespace != NULL && !json_is_string(namespace))
		return "\"namespace\" must be a string.";
	const char *message =
	    scope_from_json(a, json_object_get(a->in, "scope"), &scope);
	if (message != NULL)
		return message;
	find_candidates(a, namespace ? string_of(namespace) : SPAN("default"),
	    &scope, string_of(key));
	if (a->n_others == 0)
		return "No route has this namespace with this scope: \"scope\" "
		       "must have a value for at least one header that the "
		       "route's scope names, and no other headers.";
	return NULL;
}
