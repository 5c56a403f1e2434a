/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/digits.h"
#include "conf/load/list_private.h"
#include "conf/load/rule_private.h"
#include "conf/load/text_private.h"
#include "conf/load/unknown_private.h"

/* --- lists of strings --- */

/* One more, for which there is room. */
static void
add_string(struct loader *l, const struct json_place *at, const json_t *value,
    enum option_type type, struct strings *strings)
{
	const struct rule *rule = &rule_of[type];
	char *text = text_read_as(l, at, value, type);
	if (text == NULL)
		return;
	for (size_t i = 0; i < strings->count; i++)
		if ((rule->nocase ? strcasecmp : strcmp)(
			strings->list[i], text) == 0) {
			complaints_at(l, at, "appears twice");
			return;
		}
	strings->list[strings->count++] = text;
}

void
list_parse_strings(struct loader *l, const struct given *given)
{
	enum option_type type = given->option->type;
	const struct rule *rule = &rule_of[type];
	size_t count = json_array_size(given->value);
	bool one = rule->short_form && text_is_one(given->value);
	if (!json_is_array(given->value) && !one) {
		complaints_at(l, given->at, rule->short_form
			? "must be a string, or a list of strings"
			: "must be a list of strings: [\"...\", \"...\"]");
		return;
	}
	if (rule->some && count == 0 && !one)
		complaints_at(l, given->at, "must not be empty");
	struct strings strings = {
	    loader_alloc(l, (count + 1) * sizeof *strings.list), 0};
	if (one)
		add_string(l, given->at, given->value, type, &strings);
	for (size_t i = 0; i < count; i++) {
		struct json_place at = {given->at, NULL, i};
		add_string(
		    l, &at, json_array_get(given->value, i), type, &strings);
	}
	*(struct strings *)given->field = strings;
}

/* --- JSON pointers (RFC 6901) --- */

void
list_parse_pointer(struct loader *l, const struct given *given)
{
	char *text =
	    text_read_as(l, given->at, given->value, TYPE_POINTER);
	if (text != NULL)
		must(json_pointer_read(
		    l->conf->arena, span_str(text), given->field));
}

void
list_parse_pointers(struct loader *l, const struct given *given)
{
	struct json_pointers *pointers = given->field;
	struct strings texts = {NULL, 0};
	struct given of_texts = *given;
	of_texts.field = &texts;
	list_parse_strings(l, &of_texts);
	if (texts.list == NULL)
		return;
	pointers->list = loader_alloc(l, texts.count * sizeof *pointers->list);
	pointers->count = texts.count;
	for (size_t i = 0; i < texts.count; i++)
		must(json_pointer_read(l->conf->arena,
		    span_str(texts.list[i]), &pointers->list[i]));
}

/* Pointers, and objects that name parameters of the query among them. */
void
list_parse_ignored(struct loader *l, const struct given *given)
{
	struct conf_idempotency *policy = given->base;
	size_t count = json_array_size(given->value);
	struct strings names = {
	    loader_alloc(l, count * sizeof *names.list), 0};
	struct given rest = *given;
	rest.value = json_array();
	for (size_t i = 0; i < count; i++) {
		struct json_place at = {given->at, NULL, i};
		struct json_place here = {&at, "query", 0};
		json_t *value = json_array_get(given->value, i);
		json_t *name = json_object_get(value, "query");
		if (!json_is_object(value) || text_is_one(value))
			must(json_array_append(rest.value, value) == 0);
		else if (name == NULL || json_object_size(value) != 1)
			complaints_at(l, &at, "must be {\"query\": NAME}");
		else
			add_string(l, &here, name, TYPE_TEXT, &names);
	}
	list_parse_pointers(l, &rest);
	json_decref(rest.value);
	policy->fingerprint_ignore_query = names;
}

/* Pointers, or a word: the body is the key, or the key a label. */
void
list_parse_word(struct loader *l, const struct given *given)
{
	struct conf_idempotency *policy = given->base;
	bool label = given->option->type == TYPE_LABEL;
	bool *chosen = label ? &policy->label_key : &policy->derive_from_body;
	const char *word = label ? "key" : "body", *hint = NULL;
	bool one = text_is_one(given->value);
	json_t *entry;
	size_t count;
	/* In brackets it would be a pointer. */
	json_array_foreach(given->value, count, entry)
		if (label && json_is_string(entry) &&
		    !strcmp(json_string_value(entry), word))
			hint = ": the key is not one of several";
	if (hint != NULL)
		complaints_at(l, given->at, "must be \"key\" or a list of JSON "
		    "pointers%s", count == 1 ? "; did you mean \"key\"?"
					     : hint);
	char *text = one ? text_read(l, given->at, given->value) : NULL;
	if (hint != NULL || (one && text == NULL))
		return;
	if (text != NULL ? strcmp(text, word) != 0 : !label && count == 0) {
		complaints_at(l, given->at, "must be \"%s\" or a list of JSON "
		    "pointers like [\"/order_id\"]", word);
	} else if (text != NULL) {
		*(struct json_pointers *)given->field =
		    (struct json_pointers){NULL, 0};
		*chosen = true;
	} else {
		*chosen = false;
		list_parse_pointers(l, given);
	}
}

/* --- objects of one member --- */

char *
list_read_member(struct loader *l, const struct given *given,
    const char *member, enum option_type type)
{
	const char *name;
	json_t *value;
	char *text = NULL;
	json_object_foreach(given->value, name, value)
	{
		struct json_place at = {given->at, name, 0};
		if (strcmp(name, member) != 0)
			unknown_beside(l, &at, member);
		else
			text = text_read_as(l, &at, value, type);
	}
	if (json_object_get(given->value, member) == NULL)
		complaints_at(l, given->at, "\"%s\" is missing", member);
	return text;
}

/* JSON pointers, or {"path": NAME}. */
void
list_parse_entity(struct loader *l, const struct given *given)
{
	struct conf_entity *entity = given->field;
	struct given pointers = *given;
	if (json_is_object(given->value)) {
		char *name = list_read_member(l, given, "path", TYPE_TEXT);
		if (name != NULL)
			*entity = (struct conf_entity){.path = name};
	} else if (json_array_size(given->value) == 0) {
		complaints_at(l, given->at,
		    "must be a list of JSON pointers or {\"path\": NAME}");
	} else {
		pointers.field = &entity->pointers;
		list_parse_pointers(l, &pointers);
		entity->path = NULL;
	}
}

/* --- statuses that are not 2xx --- */

void
list_parse_statuses(struct loader *l, const struct given *given)
{
	bool statuses[600] = {false};
	for (size_t i = 0; i < json_array_size(given->value); i++) {
		struct json_place at = {given->at, NULL, i};
		const json_t *value = json_array_get(given->value, i);
		const char *text = json_string_value(value);
		json_int_t status = json_integer_value(value);
		int64_t meant;
		if (text != NULL && digits_read(span_str(text), 599, &meant) &&
		    meant >= 300)
			complaints_at(l, &at, "must be a number, without "
			    "quotes; did you mean %s?", text);
		else if (status < 300 || status > 599)
			complaints_at(
			    l, &at, "must be a status from 300 to 599");
		else
			statuses[status] = true;
	}
	memcpy(given->field, statuses, sizeof statuses);
}
