/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/loop/loop.h"
#include "base/mem.h"
#include "base/must.h"
#include "base/rfc3339.h"
#include "operators/commands/print.h"
#include "operators/commands/table.h"
#include "operators/commands/values.h"

static void
print_value(const json_t *value)
{
	if (json_is_string(value))
		print_text(stdout, span_of(json_string_value(value),
		    json_string_length(value)), "\n\t");
	else if (json_is_integer(value))
		printf("%lld", (long long)json_integer_value(value));
	else
		json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_COMPACT);
}

/* --- times --- */

/* Says how far a time is from now; to be freed; NULL: it is no time. */
static char *
age_text(const char *time)
{
	static const struct {
		int64_t seconds;
		const char *name;
	} units[] = {{24 * 3600, "days"}, {3600, "hours"}, {60, "minutes"},
	    {1, "seconds"}};
	int64_t then_ms;
	if (!rfc3339_read(span_str(time), &then_ms))
		return NULL;
	int64_t apart = (clock_wall_ms() - then_ms) / 1000;
	int64_t seconds = apart < 0 ? -apart : apart;
	int64_t half = 0;
	size_t i = 0;
	/* Two of a unit and more, so that no name is a singular. */
	while (i < 3 && seconds < 2 * units[i].seconds)
		i++;
	if (seconds < 2)
		return mem_str(SPAN("just now"));
	/* A time seven days ahead is that still when it is looked at. */
	if (apart < 0)
		half = units[i].seconds / 2;
	return mem_printf("%s%lld %s%s", apart < 0 ? "in " : "",
	    (long long)((seconds + half) / units[i].seconds), units[i].name,
	    apart < 0 ? "" : " ago");
}

/* --- a list --- */

/* Makes the text of a cell, which the caller frees. */
static char *
cell_text(const struct values_column *column, const json_t *object)
{
	const json_t *value = json_object_get(object, column->name);
	char *text = NULL;
	if (json_is_string(value))
		text = column->age
		    ? age_text(json_string_value(value))
		    : mem_str(span_str(json_string_value(value)));
	else if (json_is_integer(value) && !column->age)
		text = mem_printf(
		    "%lld", (long long)json_integer_value(value));
	return text != NULL ? text : mem_str(SPAN("-"));
}

void
values_table(const json_t *objects, const struct values_column *columns,
    size_t n_columns)
{
	const char *titles[VALUES_COLUMNS_MAX];
	size_t at;
	json_t *object;
	must(n_columns <= VALUES_COLUMNS_MAX);
	bool has_last = strcmp(columns[n_columns - 1].name, "label") != 0;
	json_array_foreach(objects, at, object)
		has_last |= json_object_get(object, "label") != NULL;
	n_columns -= !has_last;
	for (size_t i = 0; i < n_columns; i++)
		titles[i] = columns[i].title;
	struct table *table = table_new(n_columns, titles);
	json_array_foreach(objects, at, object) {
		char *cells[VALUES_COLUMNS_MAX];
		for (size_t i = 0; i < n_columns; i++)
			cells[i] = cell_text(&columns[i], object);
		table_row(table, (const char *const *)cells);
		for (size_t i = 0; i < n_columns; i++)
			free(cells[i]);
	}
	/* One of them a line, whatever the terminal: others read it too. */
	table_print(table, 0, 0);
	table_free(&table);
}

/* --- one object --- */

/* Prints "2026-11-23T20:00:00.000Z release: not in the ledger" and so on. */
static void
print_acts(const json_t *acts)
{
	size_t at;
	json_t *act;
	json_array_foreach(acts, at, act) {
		const json_t *note = json_object_get(act, "note");
		printf("%s", at > 0 ? "\n             " : "");
		print_value(json_object_get(act, "time"));
		putchar(' ');
		print_value(json_object_get(act, "act"));
		if (json_object_get(act, "who") != NULL) {
			fputs(" by ", stdout);
			print_value(json_object_get(act, "who"));
		}
		if (note == NULL)
			continue;
		fputs(": ", stdout);
		print_value(note);
	}
}

void
values_object(json_t *object)
{
	const char *name;
	json_t *value;
	json_object_foreach(object, name, value) {
		if (!strcmp(name, "headers") || !strncmp(name, "body", 4))
			continue;
		char *age = json_is_string(value)
		    ? age_text(json_string_value(value))
		    : NULL;
		printf("%-12s ", name);
		if (!strcmp(name, "history") && json_is_array(value))
			print_acts(value);
		else
			print_value(value);
		if (age != NULL)
			printf(" (%s)", age);
		putchar('\n');
		free(age);
	}
	const json_t *headers = json_object_get(object, "headers");
	if (headers == NULL)
		return;
	size_t at;
	json_t *pair;
	putchar('\n');
	json_array_foreach(headers, at, pair) {
		print_value(json_array_get(pair, 0));
		fputs(": ", stdout);
		print_value(json_array_get(pair, 1));
		putchar('\n');
	}
	const json_t *body = json_object_get(object, "body");
	if (body == NULL)
		body = json_object_get(object, "body_base64");
	putchar('\n');
	print_value(body);
	putchar('\n');
}

/* --- asking --- */

int
values_ask(const struct command_line *line, const char *const *names,
    size_t count, const struct values_request *request)
{
	int worst = GATEWAY_WELL;
	for (size_t i = 0; i < count; i++) {
		json_t *answer = NULL;
		const struct command_meant *meant = request->meant;
		if (meant != NULL)
			json_object_set_new(request->in, "attempt",
			    meant[i].attempt > 0
				? json_integer(meant[i].attempt)
				: json_null());
		/* A gateway of the release before does not know it. */
		json_object_del(request->in, "changed");
		if (meant != NULL && meant[i].changed.len > 0)
			json_object_set_new(request->in, "changed",
			    json_stringn(meant[i].changed.ptr,
				meant[i].changed.len));
		char *segment = admin_api_encode(names[i]);
		char *target = mem_printf("/%s/%s%s", request->folder, segment,
		    request->behind);
		int code = admin_api_ask(&line->gateway, request->method,
		    target, json_incref(request->in), &answer);
		/* Of several, or of one by its state, it must say whose. */
		if (code != GATEWAY_WELL && (count > 1 || line->state != NULL))
			fprintf(stderr, "onceproxy %s: that was said of %s\n",
			    line->command->name, names[i]);
		if (code == GATEWAY_WELL && line->as_json) {
			print_json(answer);
		} else if (code == GATEWAY_WELL && request->done != NULL) {
			printf("%s: %s\n", names[i], request->done);
		} else if (code == GATEWAY_WELL) {
			if (i > 0 && request->print == values_object)
				putchar('\n');
			request->print(answer);
		}
		worst |= code;
		free(target);
		free(segment);
		json_decref(answer);
	}
	json_decref(request->in);
	return worst;
}
