/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/test_build.h"
#include "http/head/answer_fields.h"
#include "http/head/head_check.h"

static struct span
span_of_json(const json_t *text)
{
	return span_of(json_string_value(text), json_string_length(text));
}

static const char *
take_field(struct arena *arena, struct span name, const json_t *value,
    struct fields *fields)
{
	/* Fields of one connection, and those that the gateway sets itself. */
	static const char *const others[] = {"Connection", "Content-Length",
	    "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate",
	    "Proxy-Authorization", "TE", "Trailer", "Transfer-Encoding",
	    "Upgrade", "X-Request-Id", "Original-Request-Id",
	    "Idempotency-Outcome"};
	if (!json_is_string(value))
		return "A header's value must be a string.";
	struct field field = {name, span_trim(span_of_json(value))};
	if ((!field_is_token(field.name) || !field_is_value(field.value)) &&
	    INVARIANT(operators_fields))
		return "\"headers\" has a name or a value that is not valid "
		       "in a response.";
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (span_ieq(name, span_str(others[i])))
			return arena_printf(arena, "\"%.*s\" of "
			    "\"headers\" cannot be stored: it belongs to "
			    "framing or to the connection, or the gateway "
			    "sets it.", SPAN_FMT(field.name)).ptr;
	fields->list[fields->count++] = field;
	return NULL;
}

const char *
answer_fields_read(
    struct arena *arena, json_t *headers, struct fields *ret_fields)
{
	const char *message = NULL;
	size_t count = json_is_object(headers) ? json_object_size(headers)
					       : json_array_size(headers);
	if (headers == NULL)
		return NULL;
	if (!json_is_object(headers) && !json_is_array(headers))
		return "\"headers\" must be an object or a list of pairs.";
	if (count > HEAD_CHECK_FIELDS_MAX)
		return "There are more than 100 headers.";
	struct fields fields = fields_new(arena, count);
	const char *key;
	json_t *value;
	json_object_foreach(headers, key, value)
		if (message == NULL)
			message = take_field(
			    arena, span_str(key), value, &fields);
	for (size_t i = 0; i < json_array_size(headers) && message == NULL;
	     i++) {
		const json_t *pair = json_array_get(headers, i);
		const json_t *name = json_array_get(pair, 0);
		if (json_array_size(pair) != 2 || !json_is_string(name))
			return "A header must be a list of its name and its "
			       "value.";
		message = take_field(arena, span_of_json(name),
		    json_array_get(pair, 1), &fields);
	}
	if (message == NULL)
		*ret_fields = fields;
	return message;
}
