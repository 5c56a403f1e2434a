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

void
source_request_parse_method(struct loader *l, const struct given *given)
{
	char **field = given_field(given);
	char *text = text_read(l, given->at, given->value);
	const char *wrong = text != NULL ? text_wrong_method(text) : NULL;
	if (wrong != NULL) {
		complaints_at(l, given->at, "%s", wrong);
		text_free(&text);
	}
	if (text == NULL)
		return;
	text_free(field);
	*field = text;
}

/* --- values of headers --- */

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

void
source_request_parse_value(struct loader *l, const struct given *given)
{
	char **field = given_field(given);
	char *text = text_read(l, given->at, given->value);
	const char *wrong = text != NULL ? wrong_value(text) : NULL;
	if (wrong != NULL) {
		complaints_at(l, given->at, "%s", wrong);
		text_free(&text);
	}
	if (text == NULL)
		return;
	text_free(field);
	*field = text;
}

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

/* --- headers --- */

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
source_request_parse_headers(struct loader *l, const struct given *given)
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
source_request_clear_headers(void *base, void *field)
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
