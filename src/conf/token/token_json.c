/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "conf/token/token_json.h"

/* Who names a thousand audiences has something else in mind. */
enum { ITEMS_MAX = 1000 };

const struct json *
token_json_at(const struct json *object, const char *name)
{
	struct span segment = span_str(name);
	const struct json_pointer pointer = {&segment, 1};
	return json_at(object, &pointer);
}

const struct json *
token_json_item(const struct json *list, unsigned index)
{
	char name[16];
	snprintf(name, sizeof name, "%u", index);
	return token_json_at(list, name);
}

bool
token_json_text(
    const struct json *object, const char *name, struct span *ret_text)
{
	const struct json *value = token_json_at(object, name);
	return value != NULL && json_text(value, ret_text);
}

bool
token_json_lists(
    const struct json *object, const char *name, struct span wanted)
{
	const struct json *value = token_json_at(object, name);
	struct span text;
	if (value == NULL)
		return false;
	if (json_text(value, &text))
		return span_eq(text, wanted);
	for (unsigned i = 0; i < ITEMS_MAX; i++) {
		const struct json *item = token_json_item(value, i);
		if (item == NULL)
			return false;
		if (json_text(item, &text) && span_eq(text, wanted))
			return true;
	}
	return false;
}
