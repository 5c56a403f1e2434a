/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "operate/keys_print.h"
#include "cmd/table.h"
#include "loop/loop.h"

/* Control characters would speak to the terminal. */
static void
put_safely(const char *text, size_t len)
{
	struct span s = span_of(text, len);
	while (s.len > 0) {
		char c = s.ptr[0];
		size_t shown = c == '\n' || c == '\t' ? 1 : utf8_shown(s);
		if (shown > 0)
			fwrite(s.ptr, 1, shown, stdout);
		else
			printf("\\x%02x", (unsigned char)c);
		s = span_from(s, shown > 0 ? shown : 1);
	}
}

static void
print_value(const json_t *value)
{
	if (json_is_string(value))
		put_safely(
		    json_string_value(value), json_string_length(value));
	else if (json_is_integer(value))
		printf("%lld", (long long)json_integer_value(value));
	else
		json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_COMPACT);
}

/* --- times --- */

/* How far a time is from now; the caller frees the text; NULL: it is
 * none. */
static char *
age_text(const char *time)
{
	static const struct {
		int64_t seconds;
		const char *name;
	} units[] = {{24 * 3600, "days"}, {3600, "hours"}, {60, "minutes"},
	    {1, "seconds"}};
	struct tm tm = {0};
	const char *end = strptime(time, "%Y-%m-%dT%H:%M:%S", &tm);
	if (end == NULL || *end == '\0')
		return NULL;
	int64_t apart = clock_wall_ms() / 1000 - (int64_t)timegm(&tm);
	int64_t seconds = apart < 0 ? -apart : apart;
	size_t i = 0;
	/* Two of a unit and more, so that no name is a singular. */
	while (i < 3 && seconds < 2 * units[i].seconds)
		i++;
	if (seconds < 2)
		return mem_str(SPAN("just now"));
	return mem_printf("%s%lld %s%s", apart < 0 ? "in " : "",
	    (long long)(seconds / units[i].seconds), units[i].name,
	    apart < 0 ? "" : " ago");
}

/* --- a list --- */

/* What a cell shows of a member; the caller frees it. */
static char *
cell_text(const json_t *value)
{
	if (json_is_string(value))
		return mem_str(span_str(json_string_value(value)));
	if (json_is_integer(value))
		return mem_printf("%lld", (long long)json_integer_value(value));
	return mem_str(SPAN("-"));
}

static void
add_record(struct table *table, const json_t *record)
{
	static const char *const names[] = {
	    "key_id", "state", "reason", "attempt", "changed", "route"};
	enum { N_NAMES = sizeof names / sizeof *names, CHANGED = 4 };
	char *cells[N_NAMES];
	for (int i = 0; i < N_NAMES; i++)
		cells[i] = cell_text(json_object_get(record, names[i]));
	char *age = age_text(cells[CHANGED]);
	table_row(table,
	    (const char *const[]){cells[0], cells[1], cells[2], cells[3],
		cells[CHANGED], age ? age : "-", cells[5]});
	for (int i = 0; i < N_NAMES; i++)
		free(cells[i]);
	free(age);
}

void
keys_print_list(const json_t *records)
{
	static const char *const titles[] = {"KEY_ID", "STATE", "REASON",
	    "ATTEMPT", "CHANGED", "AGE", "ROUTE"};
	struct table *table =
	    table_new(sizeof titles / sizeof *titles, titles);
	size_t at;
	json_t *record;
	json_array_foreach(records, at, record)
		add_record(table, record);
	/* One record a line, whatever the terminal: others read it too. */
	table_print(table, 0, 0);
	table_free(&table);
}

/* --- one record --- */

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
		char *age = json_is_string(value)
		    ? age_text(json_string_value(value))
		    : NULL;
		printf("%-12s ", name);
		print_value(value);
		if (age != NULL)
			printf(" (%s)", age);
		putchar('\n');
		free(age);
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
