/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/span.h"
#include "conf/api_preset.h"
#include "conf/option.h"
#include "man/manual.h"

/* --- mdoc --- */

/* Text with what means something to troff escaped; a sentence to a line. */
static void
put_mdoc(const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else
			putchar(*text);
		if (*text == '.' && text[1] == ' ' &&
		    isupper((unsigned char)text[2])) {
			putchar('\n');
			text++;
		}
	}
}

/* A line of its own, that is no macro whatever it begins with. */
static void
put_line(const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", stdout);
	put_mdoc(text);
	putchar('\n');
}

/* Three dots where a text has a place for particulars. */
static void
put_filled(const char *text)
{
	const char *hole = strstr(text, "{}");
	char line[512];
	if (hole == NULL)
		snprintf(line, sizeof line, "%s", text);
	else
		snprintf(line, sizeof line, "%.*s...%s", (int)(hole - text),
		    text, hole + 2);
	put_line(line);
}

static void
put_item(const char *name)
{
	fputs(".It Sy \"", stdout);
	put_mdoc(name);
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
    {GROUP_LISTEN, "Entries of listen that are objects"},
    {GROUP_ENCRYPTION_KEY, "Entries of store.encryption_keys"},
    {GROUP_UPSTREAM, "Upstreams that are objects"},
    {GROUP_ROUTE, "A route"},
    {GROUP_IDEMPOTENCY, "The idempotency of a route, and defaults"},
    {GROUP_SCOPE, "Entries of scope"},
    {GROUP_RECONCILE, "The long form of on_unknown's reconcile"},
    {GROUP_BROKER, "A broker"},
    {GROUP_SOURCE, "A source"},
    {GROUP_RELAY, "A relay"},
};

/* Its value is a list of its words, not one of them. */
static bool
takes_list(const struct option *option)
{
	return option->type == TYPE_PARTS;
}

static void
put_option(const struct option *option)
{
	const char *preset = option_preset(option);
	put_item(option->path);
	put_line(option->sentence);
	if (option->words != NULL) {
		printf("%s: ", takes_list(option) ? "Any of" : "One of");
		put_mdoc(option->words);
		puts(".");
	}
	if (option_required(option)) {
		puts("Required.");
	} else if (preset != NULL) {
		printf("Default: ");
		put_mdoc(preset);
		puts(".");
	}
	if (option->restart)
		puts("A reload does not change it.");
}

int
manual_options(void)
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

static void
put_problem(int status, const char *type, int after_s, const char *retry,
    const char *detail)
{
	char name[96];
	snprintf(name, sizeof name, "%d %s", status, type);
	put_item(name);
	put_line(detail);
	printf("Retry: ");
	put_mdoc(retry);
	if (after_s > 0)
		printf(", after %d s", after_s);
	puts(".");
}

#define SAME_KEY "same-key"
#define NEW_KEY "new-key"
#define FIX_REQUEST "fix-request"

int
manual_problems(void)
{
	begin_list();
#define PROBLEM(name, status, type, retry, after, title, detail)              \
	put_problem(status, type, after, retry, detail);
#include "tbl/problems.h"
#undef PROBLEM
	end_list();
	return 0;
}

/* --- events --- */

/* Without a message it is described by hand. */
static void
put_event(const char *name, const char *level, const char *message)
{
	if (message[0] == '\0')
		return;
	printf(".It Sy \"");
	put_mdoc(name);
	printf("\" Pq ");
	for (; *level != '\0'; level++)
		putchar(tolower((unsigned char)*level));
	putchar('\n');
	put_line(message);
}

int
manual_events(void)
{
	begin_list();
#define EVENT(name, level, message) put_event(#name, #level, message);
#include "tbl/events.h"
#undef EVENT
	end_list();
	return 0;
}

/* --- lists of names and what they mean --- */

static void
put_meaning(const char *name, const char *message)
{
	if (name[0] == '\0')
		return;
	put_item(name);
	put_line(message);
}

int
manual_outcomes(void)
{
	begin_list();
#define OUTCOME(name, word, message) put_meaning(word, message);
#include "tbl/outcomes.h"
#undef OUTCOME
	end_list();
	return 0;
}

int
manual_standings(void)
{
	begin_list();
#define STANDING(name, word, message) put_meaning(word, message);
#include "tbl/standings.h"
#undef STANDING
	end_list();
	return 0;
}

int
manual_states(void)
{
	begin_list();
#define STATE(name, letter, message) put_meaning(#name, message);
#include "tbl/states.h"
#undef STATE
	end_list();
	return 0;
}

int
manual_reasons(void)
{
	begin_list();
#define REASON(name, letter, word, message) put_meaning(word, message);
#include "tbl/reasons.h"
#undef REASON
	end_list();
	return 0;
}

int
manual_faults(void)
{
	puts(".Bl -bullet");
#define FAULT(name, message) \
	puts(".It"); \
	put_line(message);
#include "tbl/faults.h"
#undef FAULT
	end_list();
	return 0;
}

int
manual_metrics(void)
{
	begin_list();
#define METRIC(id, kind, name, help) put_meaning(name, help);
#include "tbl/metrics.h"
#undef METRIC
	end_list();
	return 0;
}

/* --- what doctor finds --- */

int
manual_findings(void)
{
	static const struct {
		const char *name, *level, *message, *cure;
	} findings[] = {
#define FINDING(name, level, needs, well, message, cure) \
	{#name, #level, message, cure},
#include "tbl/findings.h"
#undef FINDING
	};
	begin_list();
	for (size_t i = 0; i < sizeof findings / sizeof *findings; i++) {
		bool fails = !strcmp(findings[i].level, "FAIL");
		put_item(findings[i].name);
		puts(fails ? "Failure:" : "Warning:");
		put_filled(findings[i].message);
		puts(".br\n.Em To do :");
		put_filled(findings[i].cure);
	}
	end_list();
	return 0;
}

/* --- rights in Redis --- */

int
manual_rights(void)
{
	static const struct {
		const char *name, *message;
	} rights[] = {
#define RIGHT(name, when, probe, message) {name, message},
#include "tbl/rights.h"
#undef RIGHT
	};
	begin_list();
	for (size_t i = 0; i < sizeof rights / sizeof *rights; i++) {
		char name[40];
		snprintf(name, sizeof name, "+%s", rights[i].name);
		put_item(name);
		put_line(rights[i].message);
	}
	end_list();
	return 0;
}

/* --- presets --- */

static void
put_preset(const char *name, enum api_preset preset)
{
	json_t *members = api_preset_members(preset), *value;
	const char *member;
	put_item(name);
	put_line(api_preset_sentence(preset));
	puts(".Bd -unfilled -compact");
	json_object_foreach(members, member, value)
	{
		char *text = json_dumps(value, JSON_ENCODE_ANY);
		put_mdoc("\"");
		put_mdoc(member);
		put_mdoc("\": ");
		put_mdoc(text);
		putchar('\n');
		free(text);
	}
	puts(".Ed");
	json_decref(members);
}

int
manual_presets(void)
{
	begin_list();
#define PRESET(name, word, ...) put_preset(word, API_PRESET_##name);
#define PRESET_SAYS(...)
#include "tbl/presets.h"
#undef PRESET
#undef PRESET_SAYS
	end_list();
	return 0;
}
