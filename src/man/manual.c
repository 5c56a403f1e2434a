/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "base/span.h"
#include "conf/option.h"
#include "man/manual.h"

/* --- mdoc --- */

/* Text with what means something to troff escaped. */
static void
put_text(const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else
			putchar(*text);
	}
}

/* A line of its own, that is no macro whatever it begins with. */
static void
put_line(const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", stdout);
	put_text(text);
	putchar('\n');
}

static void
put_item(const char *name)
{
	fputs(".It Sy \"", stdout);
	put_text(name);
	fputs("\"\n", stdout);
}

static void
begin_list(void)
{
	puts(".Bl -tag -width Ds");
}

static void
end_list(void)
{
	puts(".El");
}

/* --- options --- */

static const struct {
	enum group group;
	const char *title;
} groups[] = {
    {GROUP_ROOT, "The whole file"},
    {GROUP_LISTEN, "An entry of listen, where it is an object"},
    {GROUP_ENCRYPTION_KEY, "An entry of store.encryption_keys"},
    {GROUP_UPSTREAM, "An upstream, where it is an object"},
    {GROUP_ROUTE, "A route"},
    {GROUP_IDEMPOTENCY, "The idempotency of a route, and defaults"},
};

static void
put_option(const struct option *option)
{
	const char *preset = option_preset(option);
	put_item(option->path);
	put_line(option->sentence);
	if (option->words != NULL) {
		printf("One of: ");
		put_text(option->words);
		puts(".");
	}
	if (option_required(option)) {
		puts("Required.");
	} else if (preset != NULL) {
		printf("Default: ");
		put_text(preset);
		puts(".");
	}
	if (option->restart)
		puts("A reload does not change it.");
	if (option->off != NULL)
		puts("Accepted and checked, but not built in this version.");
}

int
print_manual_options(void)
{
	for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
		printf(".Ss %s\n", groups[i].title);
		begin_list();
		for (size_t k = 0; k < n_options; k++)
			if (options[k].group == groups[i].group)
				put_option(&options[k]);
		end_list();
	}
	return 0;
}

/* --- problems --- */

int
print_manual_problems(void)
{
	static const struct {
		int status;
		const char *type, *title;
	} problems[] = {
#define PROBLEM(name, status, type, retry, after, title, ...)                 \
	{status, type, title},
#include "tbl/problems.h"
#undef PROBLEM
	};
	begin_list();
	for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
		char name[96];
		snprintf(name, sizeof name, "%d %s", problems[i].status,
		    problems[i].type);
		put_item(name);
		put_line(problems[i].title);
	}
	end_list();
	return 0;
}

/* --- events --- */

int
print_manual_events(void)
{
	static const struct {
		const char *name, *level, *words;
	} events[] = {
#define EVENT(name, level, words) {#name, #level, words},
#include "tbl/events.h"
#undef EVENT
	};
	begin_list();
	for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
		if (events[i].words[0] == '\0')
			continue;
		put_item(events[i].name);
		put_line(events[i].words);
	}
	end_list();
	return 0;
}

/* --- metrics --- */

int
print_manual_metrics(void)
{
	static const struct {
		const char *name, *help;
	} metrics[] = {
#define METRIC(id, kind, name, help) {name, help},
#include "tbl/metrics.h"
#undef METRIC
	};
	begin_list();
	for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
		put_item(metrics[i].name);
		put_line(metrics[i].help);
	}
	end_list();
	return 0;
}
