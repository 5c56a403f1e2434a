/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/must.h"
#include "operators/commands/explain_value.h"
#include "operators/commands/table.h"

static void write_value(FILE *out, json_t *value);

static void
write_members(FILE *out, json_t *object)
{
	const char *name, *comma = "";
	json_t *value;
	json_object_foreach(object, name, value)
	{
		/* "425 release" stays in one line. */
		fprintf(out, "%s%s%s", comma, name,
		    json_is_object(value) || json_is_array(value)
			? " "
			: TABLE_NO_BREAK);
		write_value(out, value);
		comma = ", ";
	}
}

/* Strings without their quotes, lists with commas. */
static void
write_value(FILE *out, json_t *value)
{
	size_t i;
	json_t *element;
	if (json_is_string(value) && json_string_length(value) > 0) {
		fputs(json_string_value(value), out);
	} else if (json_is_array(value) && json_array_size(value) > 0) {
		json_array_foreach(value, i, element)
		{
			fputs(i > 0 ? ", " : "", out);
			write_value(out, element);
		}
	} else if (json_is_object(value) && json_object_size(value) > 0) {
		write_members(out, value);
	} else if (value == NULL) {
		fputs("none", out);
	} else {
		json_dumpf(value, out, JSON_ENCODE_ANY);
	}
}

char *
explain_value_text(json_t *value)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	must(out != NULL);
	write_value(out, value);
	must(fclose(out) == 0);
	return text;
}
