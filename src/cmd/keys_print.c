/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "cmd/keys_print.h"

/* Control characters would speak to the terminal. */
static void
print_text(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
			printf("\\x%02x", c);
		else
			putchar(c);
	}
}

static void
print_value(const json_t *value)
{
	if (json_is_string(value))
		print_text(
		    json_string_value(value), json_string_length(value));
	else if (json_is_integer(value))
		printf("%lld", (long long)json_integer_value(value));
	else
		json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_COMPACT);
}

/* A column: filled up with blanks, "-" where there is nothing. */
static void
print_cell(const json_t *record, const char *name, int width)
{
	const json_t *value = json_object_get(record, name);
	char digits[24];
	const char *text = "-";
	if (json_is_string(value)) {
		text = json_string_value(value);
	} else if (json_is_integer(value)) {
		snprintf(digits, sizeof digits, "%lld",
		    (long long)json_integer_value(value));
		text = digits;
	}
	print_text(text, strlen(text));
	for (int n = (int)strlen(text); n < width; n++)
		putchar(' ');
}

void
keys_print_list(const json_t *records)
{
	static const struct {
		const char *title;
		const char *name;
		int width;
	} columns[] = {
	    {"KEY_ID", "key_id", 34},
	    {"STATE", "state", 12},
	    {"REASON", "reason", 15},
	    {"ATTEMPT", "attempt", 9},
	    {"CHANGED", "changed", 26},
	    {"ROUTE", "route", 0},
	};
	enum { N_COLUMNS = sizeof columns / sizeof *columns };
	if (json_array_size(records) == 0) {
		puts("There are none.");
		return;
	}
	for (int i = 0; i < N_COLUMNS; i++)
		printf("%-*s", columns[i].width, columns[i].title);
	putchar('\n');
	size_t at;
	json_t *record;
	json_array_foreach(records, at, record) {
		for (int i = 0; i < N_COLUMNS; i++)
			print_cell(record, columns[i].name, columns[i].width);
		putchar('\n');
	}
}

static void
print_headers(const json_t *headers)
{
	size_t at;
	json_t *pair;
	putchar('\n');
	json_array_foreach(headers, at, pair) {
		print_value(json_array_get(pair, 0));
		fputs(": ", stdout);
		print_value(json_array_get(pair, 1));
		putchar('\n');
	}
}

void
keys_print_record(json_t *record)
{
	const char *name;
	json_t *value;
	json_object_foreach(record, name, value) {
		if (!strcmp(name, "headers") || !strncmp(name, "body", 4))
			continue;
		printf("%-12s ", name);
		print_value(value);
		putchar('\n');
	}
	const json_t *headers = json_object_get(record, "headers");
	if (headers == NULL)
		return;
	print_headers(headers);
	const json_t *body = json_object_get(record, "body");
	if (body == NULL)
		body = json_object_get(record, "body_base64");
	putchar('\n');
	print_value(body);
	putchar('\n');
}
