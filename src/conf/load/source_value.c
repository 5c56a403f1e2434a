/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/field.h"
#include "base/mem.h"
#include "conf/load/complaints_private.h"
#include "conf/load/list_private.h"
#include "conf/load/path_private.h"
#include "conf/load/secret_value_private.h"
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

static const char *
wrong_value(const char *text)
{
	size_t len = strlen(text);
	if (len == 0)
		return "must not be empty";
	if (!field_is_value(span_str(text)))
		return "must not contain control characters";
	if (strchr(" \t", text[0]) != NULL || strchr(" \t", text[len - 1]))
		return "must not begin or end with a blank";
	return NULL;
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

void
source_value_parse_method(struct loader *l, const struct given *given)
{
	read_into(l, given, text_wrong_method);
}

void
source_value_parse_value(struct loader *l, const struct given *given)
{
	read_into(l, given, wrong_value);
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

/* Behind the words of each. */
_Static_assert(SOURCE_KEY_POINTERS == 2 && SOURCE_KEY_HEADER == 3 &&
	SOURCE_ORDER_POINTERS == 4 && SOURCE_ORDER_HEADER == 5,
    "two kinds stand behind the words of key, and of order_by");

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

/*
 * The number of the word, or that behind the words for pointers, or the next
 * for a header; -1 after complaining: what was read before stays.
 */
static int
read_chosen(struct loader *l, const struct given *given,
    struct json_pointers *pointers, char **header)
{
	int words = 0, chosen = -1;
	struct span list = span_str(given->option->words), word;
	while (span_next(&list, ' ', &word))
		words++;
	if (json_is_array(given->value)) {
		if (json_array_size(given->value) == 0)
			complaints_at(l, given->at, "must not be empty");
		else if (list_read_pointers(l, given, pointers))
			chosen = words;
	} else if (is_object(given->value)) {
		char *name = read_only_member(
		    l, given, "header", wrong_message_header);
		if (name == NULL)
			return -1;
		text_free(header);
		*header = name;
		chosen = words + 1;
	} else {
		char *text = text_read(l, given->at, given->value);
		if (text == NULL)
			return -1;
		chosen = words_index(given->option->words, text);
		if (chosen < 0)
			complain_of_chosen(l, given, text);
		text_free(&text);
	}
	return chosen;
}

void
source_value_parse_key(struct loader *l, const struct given *given)
{
	struct conf_source *source = given->base;
	int chosen = read_chosen(
	    l, given, &source->key_pointers, &source->key_header);
	if (chosen >= 0)
		source->key = (enum source_key)chosen;
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
	int chosen = read_chosen(
	    l, given, &source->order_pointers, &source->order_header);
	if (chosen >= 0)
		source->order_by = (enum source_order)chosen;
}

void
source_value_clear_order(void *base, void *field)
{
	struct conf_source *source = base;
	(void)field;
	list_clear_pointers(base, &source->order_pointers);
	text_free(&source->order_header);
}

/* --- headers of the request --- */

/* What stands in the file may have variables, what is elsewhere is secret. */
static void
read_value(struct loader *l, const struct json_place *at, json_t *value,
    struct conf_source_header *header)
{
	char *text = text_read(l, at, value);
	if (text == NULL)
		return;
	text_env_hide(value);
	const char *wrong = wrong_value(text);
	if (wrong == NULL && json_is_string(value))
		wrong = path_read_message(text, &header->value);
	else if (wrong == NULL)
		header->secret = secret_value_of(&text);
	if (wrong != NULL &&
	    !(json_is_string(value) &&
		unknown_variable(l, at, text, MESSAGE_VARIABLES)))
		complaints_at(l, at, "%s", wrong);
	text_free(&text);
}

static const char *
wrong_name(const struct conf_source *source, const char *name)
{
	const char *wrong = text_wrong_field(name);
	if (wrong != NULL)
		return wrong;
	if (text_is_ours(name))
		return "the gateway removes this header or writes it itself";
	if (!strcasecmp(name, "content-type"))
		return "this header is \"request.content_type\"";
	for (size_t i = 0; i < source->request.n_headers; i++)
		if (!strcasecmp(source->request.headers[i].name, name))
			return "appears twice";
	return NULL;
}

void
source_value_parse_headers(struct loader *l, const struct given *given)
{
	struct conf_source *source = given->base;
	const char *name;
	json_t *value;
	if (!json_is_object(given->value)) {
		complaints_at(l, given->at, "must be an object");
		return;
	}
	source->request.headers = mem_zero(json_object_size(given->value) *
					   sizeof *source->request.headers);
	json_object_foreach(given->value, name, value)
	{
		struct json_place at = {given->at, name, 0};
		const char *wrong = wrong_name(source, name);
		if (wrong != NULL) {
			complaints_at_name(l, &at, "%s", wrong);
			continue;
		}
		struct conf_source_header *header =
		    &source->request.headers[source->request.n_headers++];
		header->name = mem_text(name);
		read_value(l, &at, value, header);
	}
}

void
source_value_clear_headers(void *base, void *field)
{
	struct conf_source *source = base;
	(void)field;
	for (size_t i = 0; i < source->request.n_headers; i++) {
		struct conf_source_header *header =
		    &source->request.headers[i];
		text_free(&header->name);
		template_clear(&header->value);
		secret_value_clear(NULL, &header->secret);
	}
	free(source->request.headers);
	source->request.headers = NULL;
	source->request.n_headers = 0;
}
