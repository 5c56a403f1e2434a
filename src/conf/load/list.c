/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digits.h"
#include "base/field.h"
#include "base/mem.h"
#include "conf/address.h"
#include "conf/load/complaints_private.h"
#include "conf/load/list_private.h"
#include "conf/load/text_private.h"
#include "conf/load/unknown_private.h"
#include "conf/name.h"
#include "conf/network.h"

/* --- lists of strings --- */

/* What the strings of a list must be. */
struct rule {
	const char *(*wrong)(const char *text);
	bool some;   /* one at least */
	bool nocase; /* names that differ in case only are the same */
	bool short_form; /* one may stand there instead of a list */
};

static bool
has_string(const struct strings *strings, const char *text, bool nocase)
{
	for (size_t i = 0; i < strings->count; i++)
		if (nocase ? !strcasecmp(strings->list[i], text)
			   : !strcmp(strings->list[i], text))
			return true;
	return false;
}

static void
add_string(struct loader *l, const struct json_place *at, const json_t *value,
    const struct rule *rule, struct strings *strings)
{
	char *text = text_read(l, at, value);
	if (text == NULL)
		return;
	const char *wrong = rule->wrong(text);
	if (wrong == NULL && has_string(strings, text, rule->nocase))
		wrong = "appears twice";
	if (wrong != NULL) {
		complaints_at(l, at, "%s", wrong);
		text_free(&text);
		return;
	}
	strings->list = mem_grow(
	    strings->list, (strings->count + 1) * sizeof *strings->list);
	strings->list[strings->count++] = text;
}

/* Reads a list; false, after complaining, where the value is none. */
static bool
read_strings(struct loader *l, const struct given *given,
    const struct rule *rule, struct strings *ret_strings)
{
	struct strings strings = {NULL, 0};
	if (!json_is_array(given->value)) {
		complaints_at(l, given->at,
		    "must be a list of strings: [\"...\", \"...\"]");
		return false;
	}
	if (rule->some && json_array_size(given->value) == 0)
		complaints_at(l, given->at, "must not be empty");
	for (size_t i = 0; i < json_array_size(given->value); i++) {
		struct json_place at = {given->at, NULL, i};
		add_string(
		    l, &at, json_array_get(given->value, i), rule, &strings);
	}
	*ret_strings = strings;
	return true;
}

void
list_clear_strings(void *base, void *field)
{
	struct strings *strings = field;
	(void)base;
	for (size_t i = 0; i < strings->count; i++)
		text_free(&strings->list[i]);
	free(strings->list);
	*strings = (struct strings){NULL, 0};
}

/* As browsers send it (RFC 6454, section 7), byte for byte. */
static const char *
wrong_origin(const char *text)
{
	const char *host = strstr(text, "://");
	if (!strcmp(text, "*"))
		return NULL;
	if (host == NULL || host == text || host[3] == '\0' ||
	    strpbrk(host + 3, "/?#@ \t\"*") != NULL)
		return "must be \"*\", or an origin as browsers send it: "
		       "\"https://shop.example\", without a path";
	for (const char *c = text; *c != '\0'; c++)
		if (*c <= ' ' || *c > '~' || (*c >= 'A' && *c <= 'Z'))
			return "must be in lower case, as browsers send it";
	return NULL;
}

void
list_parse_strings(struct loader *l, const struct given *given)
{
	static const struct rule rules[TYPE_COUNT_] = {
	    [TYPE_FIELDS] = {text_wrong_field, false, true, false},
	    [TYPE_KEY_FIELDS] = {text_wrong_field, false, true, true},
	    [TYPE_ORIGINS] = {wrong_origin, true, false, true},
	    [TYPE_METHODS] = {text_wrong_method, true, false, true},
	    [TYPE_ROUTE_NAMES] = {name_wrong, true, false, false},
	    [TYPE_NETWORKS] = {network_wrong, true, true, false},
	    [TYPE_HOST_PORTS] = {address_wrong_host_port, true, true, false},
	    [TYPE_TOPICS] = {name_wrong_topic, true, false, false},
	};
	const struct rule *rule = &rules[given->option->type];
	struct strings strings = {NULL, 0};
	if (!rule->short_form || json_is_array(given->value)) {
		if (!read_strings(l, given, rule, &strings))
			return;
	} else if (text_is_one(given->value)) {
		add_string(l, given->at, given->value, rule, &strings);
	} else {
		complaints_at(l, given->at,
		    "must be a string, or a list of strings");
		return;
	}
	list_clear_strings(NULL, given_field(given));
	*(struct strings *)given_field(given) = strings;
}

void
list_preset_methods(struct conf_route *route)
{
	struct strings *methods = &route->methods;
	static const char *const names[] = {"POST", "PUT", "PATCH", "DELETE"};
	enum { COUNT = sizeof names / sizeof names[0] };
	if (route->idempotency == NULL || methods->count > 0)
		return;
	methods->list = mem_zero(COUNT * sizeof *methods->list);
	for (; methods->count < COUNT; methods->count++)
		methods->list[methods->count] =
		    mem_str(span_str(names[methods->count]));
}

/* --- JSON pointers (RFC 6901) --- */

static const char *
wrong_pointer(const char *text)
{
	if (*text != '/')
		return "must be a JSON pointer like \"/order_id\" or "
		       "\"/order/id\"";
	for (; *text != '\0'; text++)
		if (*text == '~' && text[1] != '0' && text[1] != '1')
			return "in a JSON pointer, \"~\" is written \"~0\"";
	return NULL;
}

bool
list_read_pointers(struct loader *l, const struct given *given,
    struct json_pointers *ret_pointers)
{
	static const struct rule rule = {.wrong = wrong_pointer};
	struct strings texts;
	if (!read_strings(l, given, &rule, &texts))
		return false;
	list_clear_pointers(NULL, ret_pointers);
	ret_pointers->list = mem_zero(texts.count * sizeof *ret_pointers->list);
	ret_pointers->count = texts.count;
	for (size_t i = 0; i < texts.count; i++)
		must(json_pointer_read(
		    span_str(texts.list[i]), &ret_pointers->list[i]));
	list_clear_strings(NULL, &texts);
	return true;
}

void
list_parse_pointers(struct loader *l, const struct given *given)
{
	(void)list_read_pointers(l, given, given_field(given));
}

/* {"query": NAME} */
static void
read_parameter(struct loader *l, const struct json_place *at, json_t *value,
    struct strings *names)
{
	static const struct rule rule = {.wrong = name_wrong};
	json_t *name = json_object_get(value, "query");
	struct json_place here = {at, "query", 0};
	if (name == NULL || json_object_size(value) != 1)
		complaints_at(l, at, "must be {\"query\": NAME}");
	else
		add_string(l, &here, name, &rule, names);
}

void
list_parse_ignored(struct loader *l, const struct given *given)
{
	struct conf_idempotency *policy = given->base;
	struct strings names = {NULL, 0};
	json_t *pointers = json_array();
	if (!json_is_array(given->value)) {
		complaints_at(l, given->at, "must be a list of JSON pointers "
		    "like [\"/sent_at\"]");
		json_decref(pointers);
		return;
	}
	for (size_t i = 0; i < json_array_size(given->value); i++) {
		struct json_place at = {given->at, NULL, i};
		json_t *value = json_array_get(given->value, i);
		if (json_is_object(value) && !text_is_one(value))
			read_parameter(l, &at, value, &names);
		else
			must(json_array_append(pointers, value) == 0);
	}
	struct given rest = *given;
	rest.value = pointers;
	list_parse_pointers(l, &rest);
	json_decref(pointers);
	list_clear_strings(NULL, &policy->fingerprint_ignore_query);
	policy->fingerprint_ignore_query = names;
}

void
list_clear_ignored(void *base, void *field)
{
	struct conf_idempotency *policy = base;
	list_clear_pointers(base, field);
	list_clear_strings(NULL, &policy->fingerprint_ignore_query);
}

/* Pointers; or that word, which sets *ret_word. */
static void
read_word_or_pointers(struct loader *l, const struct given *given,
    const char *word, bool *ret_word)
{
	if (!text_is_one(given->value)) {
		*ret_word = false;
		list_parse_pointers(l, given);
		return;
	}
	char *text = text_read(l, given->at, given->value);
	if (text == NULL)
		return;
	if (strcmp(text, word) != 0) {
		complaints_at(l, given->at, "must be \"%s\" or a list of JSON "
		    "pointers like [\"/order_id\"]", word);
	} else {
		list_clear_pointers(NULL, given_field(given));
		*ret_word = true;
	}
	text_free(&text);
}

void
list_parse_derive_key(struct loader *l, const struct given *given)
{
	struct conf_idempotency *policy = given->base;
	if (!text_is_one(given->value) && json_array_size(given->value) == 0)
		complaints_at(l, given->at,
		    "must be \"body\" or a list of JSON pointers like "
		    "[\"/order_id\"]");
	else
		read_word_or_pointers(
		    l, given, "body", &policy->derive_from_body);
}

void
list_parse_label(struct loader *l, const struct given *given)
{
	struct conf_idempotency *policy = given->base;
	bool has_key = false;
	json_t *entry;
	size_t i;
	json_array_foreach(given->value, i, entry)
		has_key |= json_is_string(entry) &&
		    !strcmp(json_string_value(entry), "key");
	if (has_key && i == 1)
		complaints_at(l, given->at,
		    "must be \"key\" or a list of JSON pointers; did you mean "
		    "\"key\"?");
	else if (has_key)
		complaints_at(l, given->at,
		    "must be \"key\" or a list of JSON pointers: the key is "
		    "not one of several");
	else
		read_word_or_pointers(l, given, "key", &policy->label_key);
}

void
list_clear_pointers(void *base, void *field)
{
	struct json_pointers *pointers = field;
	(void)base;
	for (size_t i = 0; i < pointers->count; i++)
		json_pointer_clear(&pointers->list[i]);
	free(pointers->list);
	*pointers = (struct json_pointers){NULL, 0};
}

void
list_parse_pointer(struct loader *l, const struct given *given)
{
	struct json_pointer made;
	char *text = text_read(l, given->at, given->value);
	if (text == NULL)
		return;
	const char *wrong = wrong_pointer(text);
	if (wrong != NULL) {
		complaints_at(l, given->at, "%s", wrong);
	} else {
		must(json_pointer_read(span_str(text), &made));
		list_clear_pointer(NULL, given_field(given));
		*(struct json_pointer *)given_field(given) = made;
	}
	text_free(&text);
}

void
list_clear_pointer(void *base, void *field)
{
	(void)base;
	json_pointer_clear(field);
}

/* {"path": NAME} */
static void
read_entity_path(
    struct loader *l, const struct given *given, struct conf_entity *entity)
{
	const char *name;
	json_t *value;
	json_object_foreach(given->value, name, value)
	{
		struct json_place at = {given->at, name, 0};
		if (strcmp(name, "path") != 0) {
			unknown_beside(l, &at, "path");
			continue;
		}
		char *text = text_read(l, &at, value);
		if (text == NULL)
			continue;
		list_clear_entity(NULL, entity);
		entity->path = text;
	}
	if (json_object_get(given->value, "path") == NULL)
		complaints_at(l, given->at, "\"path\" is missing");
}

void
list_parse_entity(struct loader *l, const struct given *given)
{
	struct conf_entity *entity = given_field(given);
	if (json_is_object(given->value)) {
		read_entity_path(l, given, entity);
		return;
	}
	if (!json_is_array(given->value) ||
	    json_array_size(given->value) == 0) {
		complaints_at(l, given->at,
		    "must be a list of JSON pointers or {\"path\": NAME}");
		return;
	}
	text_free(&entity->path);
	list_parse_pointers(l, given);
}

void
list_clear_entity(void *base, void *field)
{
	struct conf_entity *entity = field;
	list_clear_pointers(base, &entity->pointers);
	text_free(&entity->path);
}

/* --- statuses --- */

/* Adds one; in quotes it is no number. */
static void
add_status(struct loader *l, const struct json_place *at, const json_t *value,
    bool *statuses)
{
	json_int_t status = json_integer_value(value);
	const char *text = json_string_value(value);
	int64_t meant;
	if (text != NULL && digits_read(span_str(text), 599, &meant) &&
	    meant >= 300)
		complaints_at(l, at,
		    "must be a number, without quotes; did you mean %s?", text);
	else if (!json_is_integer(value) || status < 300 || status > 599)
		complaints_at(l, at, "must be a status from 300 to 599");
	else
		statuses[status] = true;
}

void
list_parse_statuses(struct loader *l, const struct given *given)
{
	bool statuses[600] = {false};
	if (!json_is_array(given->value)) {
		complaints_at(l, given->at,
		    "must be a list of statuses like [404, 410]");
		return;
	}
	for (size_t i = 0; i < json_array_size(given->value); i++) {
		struct json_place at = {given->at, NULL, i};
		add_status(l, &at, json_array_get(given->value, i), statuses);
	}
	memcpy(given_field(given), statuses, sizeof statuses);
}

/* --- any list --- */

bool
list_is_one(struct loader *l, const struct given *given, size_t least)
{
	bool list = json_is_array(given->value);
	if (!list)
		complaints_at(l, given->at, "must be a list like %s",
		    given->option->type == TYPE_LISTENS
			? "[\"127.0.0.1:8080\"]"
			: "[{...}, {...}]");
	else if (json_array_size(given->value) < least)
		complaints_at(l, given->at, "must not be empty");
	return list;
}
