/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/kinds.h"
#include "conf/load/list_private.h"
#include "conf/load/path_private.h"
#include "conf/load/rule_private.h"
#include "conf/load/source_private.h"
#include "conf/load/text_private.h"
#include "conf/load/unknown_private.h"
#include "conf/words.h"

/* --- finish --- */

/* A value of a column, as SQL reads it: a text, a number, true or false. */
static char *
read_column_value(
    struct loader *l, const struct json_place *at, const json_t *value)
{
	if (!json_is_number(value) && !json_is_boolean(value))
		return text_read(l, at, value);
	char *dumped = json_dumps(value, JSON_ENCODE_ANY);
	char *text = loader_str(l, dumped);
	free(dumped);
	return text;
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
			finish->column =
			    text_read_as(l, &at, value, TYPE_COLUMN);
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
	/* One that stands for a text is none. */
	if (json_is_object(given->value) && !text_is_one(given->value)) {
		read_finish(l, given, &finish);
	} else {
		char *text = text_read(l, given->at, given->value);
		if (text == NULL)
			return;
		if (words_index(given->option->words, text) != 0)
			complaints_at(l, given->at,
			    "must be \"delete\" or {\"set\": COLUMN}");
	}
	*(struct conf_finish *)given->field = finish;
}

/* --- results and dead letters --- */

/* {"stream": NAME}, {"table": NAME} or {"topic": NAME}. */
void
source_value_parse_place(struct loader *l, const struct given *given)
{
	static const char words[] = "must be {\"stream\": NAME}, {\"table\": "
	    "NAME} or {\"topic\": NAME}";
	const char *text = json_string_value(given->value);
	const struct kind_words *kind = NULL, *meant = NULL;
	json_t *source = given->at != NULL && given->at->up != NULL
	    ? json_object_get(loader_value(l->root, "sources"),
		  given->at->up->member)
	    : NULL;
	for (unsigned k = 0; k < BROKER_KIND_COUNT_; k++) {
		if (json_object_get(given->value, kinds_all[k].put) != NULL)
			kind = &kinds_all[k];
		/* The source's member shows which it is. */
		if (json_object_get(source, kinds_all[k].read) != NULL)
			meant = &kinds_all[k];
	}
	if (kind != NULL)
		*(char **)given->field =
		    list_read_member(l, given, kind->put, kind->type);
	else if (text != NULL && meant != NULL &&
	    rule_of[meant->type].wrong(text) == NULL)
		complaints_at(l, given->at,
		    "%s; did you mean {\"%s\": \"%s\"}?", words, meant->put,
		    text);
	else
		complaints_at(l, given->at, "%s", words);
}

/* --- key and order_by --- */

/* Behind the words of each. */
_Static_assert(SOURCE_KEY_POINTERS == 2 && SOURCE_KEY_HEADER == 3 &&
	SOURCE_ORDER_POINTERS == 4 && SOURCE_ORDER_HEADER == 5,
    "two kinds stand behind the words of key, and of order_by");

/*
 * The number of the word, or that behind the words for pointers, or the next
 * for a header.
 */
void
source_value_parse_chosen(struct loader *l, const struct given *given)
{
	struct conf_source *source = given->base;
	unsigned *chosen = given->field, words = 0;
	bool key = given->option->type == TYPE_SOURCE_KEY;
	char **header = key ? &source->key_header : &source->order_header;
	struct given pointers = *given;
	struct span list = span_str(given->option->words), word;
	pointers.field = key ? &source->key_pointers : &source->order_pointers;
	while (span_next(&list, ' ', &word))
		words++;
	if (json_array_size(given->value) > 0) {
		list_parse_pointers(l, &pointers);
		*chosen = words;
	} else if (json_is_array(given->value)) {
		complaints_at(l, given->at, "must not be empty");
	} else if (json_is_object(given->value) &&
	    !text_is_one(given->value)) {
		*header = list_read_member(
		    l, given, "header", TYPE_MESSAGE_HEADERS);
		if (*header != NULL)
			*chosen = words + 1;
	} else {
		char *text = text_read(l, given->at, given->value);
		int index = text != NULL
		    ? words_index(given->option->words, text)
		    : -1;
		if (index >= 0)
			*chosen = (unsigned)index;
		else if (text != NULL) /* perhaps a member's name */
			unknown_word(l, given->at, "must be", text,
			    given->option->words, ", or {\"header\": NAME}, "
			    "or a list of JSON pointers like "
			    "[\"/order_id\"]");
	}
}

/* --- headers of the request --- */

/* What stands in the file may have variables, what is elsewhere is secret. */
static void
read_value(struct loader *l, const struct json_place *at, json_t *value,
    unsigned variables, struct conf_header *header)
{
	bool here = json_is_string(value);
	char *text = text_read_hidden(l, at, value);
	if (text == NULL)
		return;
	const char *wrong = rule_of[TYPE_FIELD_VALUE].wrong(text);
	if (wrong != NULL &&
	    !(here && unknown_variable(l, at, text, variables)))
		complaints_at(l, at, "%s", wrong);
	else if (wrong == NULL && here)
		(void)path_read_template(
		    l, at, text, variables, &header->value);
	else if (wrong == NULL)
		header->secret = text_secret(l, text);
}

static const char *
wrong_name(const struct conf_header *others, size_t count, bool message,
    const char *name)
{
	const char *wrong = rule_of[TYPE_FIELDS].wrong(name);
	if (wrong != NULL)
		return wrong;
	if (rule_is_ours(name))
		return "the gateway removes this header or writes it itself";
	if (message && !strcasecmp(name, "content-type"))
		return "this header is \"request.content_type\"";
	for (size_t i = 0; i < count; i++)
		if (!strcasecmp(others[i].name, name))
			return "appears twice";
	return NULL;
}

/* Of a message, or of the question what became of a request. */
void
source_value_parse_headers(struct loader *l, const struct given *given)
{
	bool message = given->option->type == TYPE_MESSAGE_HEADERS;
	const char *name;
	json_t *value;
	struct conf_header *headers =
	    loader_alloc(l, json_object_size(given->value) * sizeof *headers);
	struct option_entries found = {headers, 0};
	json_object_foreach(given->value, name, value)
	{
		struct json_place at = {given->at, name, 0};
		const char *wrong =
		    wrong_name(headers, found.count, message, name);
		if (wrong != NULL) {
			complaints_at_name(l, &at, "%s", wrong);
			continue;
		}
		struct conf_header *header = &headers[found.count++];
		header->name = loader_str(l, name);
		read_value(l, &at, value,
		    message ? MESSAGE_VARIABLES : QUESTION_VARIABLES, header);
	}
	memcpy(given->field, &found, sizeof found);
}
