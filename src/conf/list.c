/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/ascii.h"
#include "base/field.h"
#include "base/mem.h"
#include "conf/address_private.h"
#include "conf/complaints_private.h"
#include "conf/list_private.h"
#include "conf/text_private.h"

/* --- lists of strings --- */

/* What the strings of a list must be. */
struct rule {
	const char *(*wrong)(const char *text);
	bool some;   /* one at least */
	bool nocase; /* names that differ in case only are the same */
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
		complaints_at(l, given->at, "must be a list of strings");
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

static void
read_into_field(
    struct loader *l, const struct given *given, const struct rule *rule)
{
	struct strings strings;
	if (!read_strings(l, given, rule, &strings))
		return;
	list_clear_strings(NULL, given_field(given));
	*(struct strings *)given_field(given) = strings;
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

static const struct rule field_rule = {text_wrong_field, false, true};
static const struct rule key_field_rule = {text_wrong_field, true, true};

void
list_parse_fields(struct loader *l, const struct given *given)
{
	read_into_field(l, given, &field_rule);
}

void
list_parse_key_fields(struct loader *l, const struct given *given)
{
	struct strings strings = {NULL, 0};
	if (!text_is_one(given->value)) {
		read_into_field(l, given, &key_field_rule);
		return;
	}
	add_string(l, given->at, given->value, &key_field_rule, &strings);
	list_clear_strings(NULL, given_field(given));
	*(struct strings *)given_field(given) = strings;
}

static const char *
wrong_method(const char *text)
{
	if (!field_is_token(span_str(text)))
		return "must be the name of a method";
	for (const char *p = text; *p != '\0'; p++)
		if (ascii_is_lower(*p))
			return "must be in upper case";
	if (!strcmp(text, "CONNECT") || !strcmp(text, "TRACE"))
		return "this method is never served";
	return NULL;
}

void
list_parse_methods(struct loader *l, const struct given *given)
{
	static const struct rule rule = {wrong_method, true, false};
	read_into_field(l, given, &rule);
}

void
list_parse_host_ports(struct loader *l, const struct given *given)
{
	static const struct rule rule = {address_wrong_host_port, true, true};
	read_into_field(l, given, &rule);
}

/* --- JSON pointers (RFC 6901) --- */

static const char *
wrong_pointer(const char *text)
{
	if (*text != '/')
		return "must be a JSON pointer like \"/order_id\"";
	for (; *text != '\0'; text++)
		if (*text == '~' && text[1] != '0' && text[1] != '1')
			return "in a JSON pointer, \"~\" is written \"~0\"";
	return NULL;
}

/*
 * Takes a valid pointer apart.  Its segments and their text are one piece of
 * memory, so that free() of the segments frees it.
 */
static struct pointer
take_apart_pointer(const char *text)
{
	size_t count = 0;
	for (const char *p = text; *p != '\0'; p++)
		count += *p == '/';
	struct span *segments =
	    mem_zero(count * sizeof *segments + strlen(text));
	char *to = (char *)(segments + count);
	size_t i = 0;
	for (const char *p = text; *p != '\0'; p++) {
		if (*p == '/') {
			segments[i++] = span_of(to, 0);
			continue;
		}
		*to = *p;
		if (*p == '~')
			*to = *++p == '1' ? '/' : '~';
		to++;
		segments[i - 1].len++;
	}
	return (struct pointer){segments, count};
}

void
list_parse_pointers(struct loader *l, const struct given *given)
{
	static const struct rule rule = {wrong_pointer, false, false};
	struct strings texts;
	if (!read_strings(l, given, &rule, &texts))
		return;

	struct pointers *pointers = given_field(given);
	list_clear_pointers(NULL, pointers);
	pointers->list = mem_zero(texts.count * sizeof *pointers->list);
	pointers->count = texts.count;
	for (size_t i = 0; i < texts.count; i++)
		pointers->list[i] = take_apart_pointer(texts.list[i]);
	list_clear_strings(NULL, &texts);
}

void
list_parse_derive_key(struct loader *l, const struct given *given)
{
	struct conf_idempotency *policy = given->base;
	if (!text_is_one(given->value)) {
		if (json_array_size(given->value) == 0) {
			complaints_at(l, given->at,
			    "must be \"body\" or a list of JSON pointers");
			return;
		}
		policy->derive_from_body = false;
		list_parse_pointers(l, given);
		return;
	}
	char *text = text_read(l, given->at, given->value);
	if (text == NULL)
		return;
	if (strcmp(text, "body") != 0) {
		complaints_at(l, given->at,
		    "must be \"body\" or a list of JSON pointers");
	} else {
		list_clear_pointers(NULL, given_field(given));
		policy->derive_from_body = true;
	}
	text_free(&text);
}

void
list_clear_pointers(void *base, void *field)
{
	struct pointers *pointers = field;
	(void)base;
	for (size_t i = 0; i < pointers->count; i++)
		free(pointers->list[i].segments);
	free(pointers->list);
	*pointers = (struct pointers){NULL, 0};
}
