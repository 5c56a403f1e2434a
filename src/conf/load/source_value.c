/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/field.h"
#include "base/mem.h"
#include "conf/load/complaints_private.h"
#include "conf/load/list_private.h"
#include "conf/load/source_private.h"
#include "conf/load/text_private.h"
#include "conf/load/unknown_private.h"
#include "conf/name.h"
#include "conf/nearest.h"
#include "conf/words.h"

/* --- names --- */

static const char *
wrong_identifier(struct span name)
{
	if (name.len == 0 || name.len > IDENTIFIER_MAX)
		return "must have 1 to 63 bytes";
	return NULL;
}

static const char *
wrong_column(const char *text)
{
	const char *wrong = name_wrong(text);
	return wrong != NULL ? wrong : wrong_identifier(span_str(text));
}

/* TABLE or SCHEMA.TABLE; names with a dot of their own are not spelled here. */
static const char *
wrong_table(const char *text)
{
	struct span rest = span_str(text), name;
	const char *wrong = name_wrong(text);
	size_t dots = 0;
	for (const char *p = text; *p != '\0'; p++)
		dots += *p == '.';
	if (wrong == NULL && dots > 1)
		wrong = "must be TABLE or SCHEMA.TABLE";
	if (wrong == NULL && text[strlen(text) - 1] == '.')
		wrong = "the name of the table is empty";
	while (wrong == NULL && span_next(&rest, '.', &name))
		wrong = wrong_identifier(name);
	return wrong;
}

static const char *
wrong_message_header(const char *text)
{
	return field_is_token(span_str(text))
	    ? NULL
	    : "must be the name of a header";
}

/* The text that a value is; NULL after complaining. */
static char *
read_right(struct loader *l, const struct json_place *at, const json_t *value,
    const char *(*wrong)(const char *text))
{
	char *text = text_read(l, at, value);
	const char *why = text != NULL ? wrong(text) : NULL;
	if (why != NULL) {
		complaints_at(l, at, "%s", why);
		text_free(&text);
	}
	return text;
}

static void
read_into(struct loader *l, const struct given *given,
    const char *(*wrong)(const char *text))
{
	char **field = given_field(given);
	char *text = read_right(l, given->at, given->value, wrong);
	if (text == NULL)
		return;
	text_free(field);
	*field = text;
}

/*
 * The text of an object that has this member alone, such as {"header": NAME};
 * NULL after complaining.
 */
static char *
read_only_member(struct loader *l, const struct given *given,
    const char *member, const char *(*wrong)(const char *text))
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
			text = read_right(l, &at, value, wrong);
	}
	if (json_object_get(given->value, member) == NULL)
		complaints_at(l, given->at, "\"%s\" is missing", member);
	return text;
}

void
source_value_parse_table(struct loader *l, const struct given *given)
{
	read_into(l, given, wrong_table);
}

void
source_value_parse_column(struct loader *l, const struct given *given)
{
	read_into(l, given, wrong_column);
}

void
source_value_parse_optional_column(
    struct loader *l, const struct given *given)
{
	if (json_is_null(given->value))
		text_clear(given->base, given_field(given));
	else
		read_into(l, given, wrong_column);
}

/* Whether the value is an object, and no text that is elsewhere. */
static bool
is_object(const json_t *value)
{
	return json_is_object(value) && !text_is_one(value);
}

/* A value of a column, as SQL reads it: a text, a number, true or false. */
static char *
read_column_value(
    struct loader *l, const struct json_place *at, const json_t *value)
{
	if (!json_is_number(value) && !json_is_boolean(value))
		return text_read(l, at, value);
	char *dumped = json_dumps(value, JSON_ENCODE_ANY);
	char *text = mem_text(dumped);
	free(dumped);
	return text;
}

void
source_value_clear_finish(void *base, void *field)
{
	struct conf_finish *finish = field;
	(void)base;
	text_free(&finish->column);
	text_free(&finish->from);
	text_free(&finish->to);
}

/* {"set": COLUMN}, and perhaps {"from": VALUE, "to": VALUE} besides. */
static void
read_finish(
    struct loader *l, const struct given *given, struct conf_finish *finish)
{
	const char *name;
	json_t *value;
	json_object_foreach(given->value, name, value)
	{
		struct json_place at = {given->at, name, 0};
		if (strcmp(name, "set") == 0)
			finish->column = read_right(
			    l, &at, value, wrong_column);
		else if (strcmp(name, "from") == 0)
			finish->from = read_column_value(l, &at, value);
		else if (strcmp(name, "to") == 0)
			finish->to = read_column_value(l, &at, value);
		else
			unknown_beside(l, &at, "set");
	}
	bool from = json_object_get(given->value, "from") != NULL;
	bool to = json_object_get(given->value, "to") != NULL;
	if (json_object_get(given->value, "set") == NULL)
		complaints_at(l, given->at, "\"set\" is missing");
	if (from != to)
		complaints_at(l, given->at,
		    "\"%s\" is missing: a column that tells by its value "
		    "which rows are unread needs both",
		    from ? "to" : "from");
	else if (finish->from != NULL && finish->to != NULL &&
	    strcmp(finish->from, finish->to) == 0)
		complaints_at(l, given->at,
		    "\"from\" and \"to\" are the same: every row would be "
		    "read again and again");
}

void
source_value_parse_finish(struct loader *l, const struct given *given)
{
	struct conf_finish finish = {NULL, NULL, NULL};
	if (is_object(given->value)) {
		read_finish(l, given, &finish);
	} else {
		char *text = text_read(l, given->at, given->value);
		if (text == NULL)
			return;
		if (words_index(given->option->words, text) != 0)
			complaints_at(l, given->at,
			    "must be \"delete\" or {\"set\": COLUMN}");
		text_free(&text);
	}
	source_value_clear_finish(given->base, given_field(given));
	*(struct conf_finish *)given_field(given) = finish;
}

static const struct {
	const char *member;
	const char *(*wrong)(const char *text);
	const char *read; /* the source's member that shows which it is */
} places[] = {{"table", wrong_table, "table"},
    {"stream", name_wrong, "stream"}, {"topic", name_wrong_topic, "topics"}};
enum { N_PLACES = sizeof places / sizeof *places };

static void
complain_of_place(struct loader *l, const struct given *given)
{
	static const char words[] = "must be {\"stream\": NAME}, {\"table\": "
	    "NAME} or {\"topic\": NAME}";
	const char *text = json_string_value(given->value);
	const struct option *sources =
	    option_at(GROUP_ROOT, offsetof(struct conf, sources));
	json_t *source = given->at != NULL && given->at->up != NULL
	    ? json_object_get(loader_value(l, sources), given->at->up->member)
	    : NULL;
	size_t i = 0;
	while (i < N_PLACES && json_object_get(source, places[i].read) == NULL)
		i++;
	if (text != NULL && i < N_PLACES && places[i].wrong(text) == NULL)
		complaints_at(l, given->at,
		    "%s; did you mean {\"%s\": \"%s\"}?", words,
		    places[i].member, text);
	else
		complaints_at(l, given->at, "%s", words);
}

void
source_value_parse_place(struct loader *l, const struct given *given)
{
	char **field = given_field(given);
	size_t i = 0;
	while (i < N_PLACES &&
	    json_object_get(given->value, places[i].member) == NULL)
		i++;
	if (i == N_PLACES) {
		complain_of_place(l, given);
		return;
	}
	char *name = read_only_member(
	    l, given, places[i].member, places[i].wrong);
	text_free(field);
	*field = name;
}

/* --- key and order_by --- */

enum form { FORM_NOTHING, FORM_WORD, FORM_POINTERS, FORM_HEADER };

/* What both may be, and the fields that it goes to. */
struct chosen {
	unsigned word;
	struct json_pointers *pointers;
	char **header;
};

/* What is near no word may be a member's name, which is suggested later. */
static void
complain_of_chosen(
    struct loader *l, const struct given *given, const char *text)
{
	struct nearest nearest = nearest_to(span_str(text));
	struct span list = span_str(given->option->words), word;
	char *listed = words_listed(given->option->words);
	while (span_next(&list, ' ', &word))
		nearest_try(&nearest, word);
	complaints_at(l, given->at,
	    "must be %s, or {\"header\": NAME}, or a list of JSON pointers "
	    "like [\"/order_id\"]%s%.*s%s", listed,
	    nearest.found.ptr != NULL ? "; did you mean \"" : "",
	    SPAN_FMT(nearest.found), nearest.found.ptr != NULL ? "\"?" : "");
	free(listed);
}

/* FORM_NOTHING, after complaining: what was read before stays. */
static enum form
read_chosen(struct loader *l, const struct given *given, struct chosen *to)
{
	if (json_is_array(given->value)) {
		if (json_array_size(given->value) == 0) {
			complaints_at(l, given->at, "must not be empty");
			return FORM_NOTHING;
		}
		return list_read_pointers(l, given, to->pointers)
		    ? FORM_POINTERS
		    : FORM_NOTHING;
	}
	if (is_object(given->value)) {
		char *name = read_only_member(
		    l, given, "header", wrong_message_header);
		if (name == NULL)
			return FORM_NOTHING;
		text_free(to->header);
		*to->header = name;
		return FORM_HEADER;
	}
	char *text = text_read(l, given->at, given->value);
	if (text == NULL)
		return FORM_NOTHING;
	int index = words_index(given->option->words, text);
	if (index < 0)
		complain_of_chosen(l, given, text);
	text_free(&text);
	if (index < 0)
		return FORM_NOTHING;
	to->word = (unsigned)index;
	return FORM_WORD;
}

void
source_value_parse_key(struct loader *l, const struct given *given)
{
	struct conf_source *source = given->base;
	struct chosen chosen = {0, &source->key_pointers, &source->key_header};
	switch (read_chosen(l, given, &chosen)) {
	case FORM_WORD:
		source->key = (enum source_key)chosen.word;
		break;
	case FORM_POINTERS:
		source->key = SOURCE_KEY_POINTERS;
		break;
	case FORM_HEADER:
		source->key = SOURCE_KEY_HEADER;
		break;
	case FORM_NOTHING:
		break;
	}
}

void
source_value_clear_key(void *base, void *field)
{
	struct conf_source *source = base;
	(void)field;
	list_clear_pointers(base, &source->key_pointers);
	text_free(&source->key_header);
}

void
source_value_parse_order(struct loader *l, const struct given *given)
{
	struct conf_source *source = given->base;
	struct chosen chosen = {
	    0, &source->order_pointers, &source->order_header};
	switch (read_chosen(l, given, &chosen)) {
	case FORM_WORD:
		source->order_by = (enum source_order)chosen.word;
		break;
	case FORM_POINTERS:
		source->order_by = SOURCE_ORDER_POINTERS;
		break;
	case FORM_HEADER:
		source->order_by = SOURCE_ORDER_HEADER;
		break;
	case FORM_NOTHING:
		break;
	}
}

void
source_value_clear_order(void *base, void *field)
{
	struct conf_source *source = base;
	(void)field;
	list_clear_pointers(base, &source->order_pointers);
	text_free(&source->order_header);
}
