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

/* Three dots for the particulars, from each hole to the next of its ends. */
static void
put_filled(const char *text, const char *hole, const char *ends)
{
	char line[512];
	size_t len = 0;
	for (const char *at; (at = strstr(text, hole)) != NULL;
	     text = strpbrk(at, ends) + 1)
		len += (size_t)snprintf(line + len, sizeof line - len,
		    "%.*s...", (int)(at - text), text);
	snprintf(line + len, sizeof line - len, "%s", text);
	put_line(line);
}

static void
put_item(const char *name)
{
	fputs(".It Sy \"", stdout);
	put_mdoc(name);
	fputs("\"\n", stdout);
}

/* --- options --- */

static const struct {
	const char *name, *title;
} groups[] = {
    [GROUP_ROOT] = {"root", ""},
    [GROUP_LISTEN] = {"listen", "An entry of listen that is an object:"},
    [GROUP_ADMIN_TOKEN] = {"admin_token",
	"An entry of admin.tokens that is an object:"},
    [GROUP_ENCRYPTION_KEY] = {"encryption_key",
	"An entry of store.encryption_keys:"},
    [GROUP_UPSTREAM] = {"upstream", "An upstream that is an object:"},
    [GROUP_ROUTE] = {"route", "A route:"},
    [GROUP_IDEMPOTENCY] = {"idempotency",
	"The idempotency of a route, and defaults:"},
    [GROUP_SCOPE] = {"scope", "An entry of scope that is an object:"},
    [GROUP_RECONCILE] = {"reconcile",
	"The reconcile of on_unknown, in its long form:"},
    [GROUP_WITNESS] = {"witness", "The witness of on_unknown:"},
    [GROUP_BROKER] = {"broker", "A broker:"},
    [GROUP_SOURCE] = {"source", "A source:"},
    [GROUP_RELAY] = {"relay", "A relay:"},
};

static void
put_option(const struct option *option)
{
	const char *preset = option_preset(option);
	fputs(".It Sy \"", stdout);
	put_mdoc(option->path);
	puts(option->restart ? "\" Pq restart" : "\"");
	put_line(option->sentence);
	if (option->words != NULL) {
		/* Of parts the value is a list of its words. */
		printf(
		    "%s: ", option->type == TYPE_PARTS ? "Any of" : "One of");
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
}

/* Is it one of these, or within the object of one?  Of none, all are. */
static bool
is_one_of(const struct option *option, char **names)
{
	if (*names == NULL)
		return true;
	for (; *names != NULL; names++) {
		size_t len = strlen(*names);
		if (strncmp(option->path, *names, len) == 0 &&
		    (option->path[len] == '\0' || option->path[len] == '.'))
			return true;
	}
	return false;
}

/* The members of a group, by its name; or of these those that follow it. */
static bool
put_options(char **words)
{
	enum group group = 0;
	while (group < GROUP_COUNT_ && strcmp(groups[group].name, *words))
		group++;
	if (group == GROUP_COUNT_)
		return false;
	if (groups[group].title[0] != '\0')
		puts(groups[group].title);
	puts(".Bl -tag -width Ds");
	for (size_t i = 0; i < n_options; i++)
		if (options[i].group == group &&
		    is_one_of(&options[i], words + 1))
			put_option(&options[i]);
	puts(".El");
	return true;
}

/* --- names and what they mean --- */

static const struct {
	const char *list, *name, *message;
} meanings[] = {
#define OUTCOME(name, word, message) {"outcomes", word, message},
#include "tbl/outcomes.h"
#undef OUTCOME
#define STANDING(name, word, message) {"standings", word, message},
#include "tbl/standings.h"
#undef STANDING
#define STATE(name, letter, message) {"states", #name, message},
#include "tbl/states.h"
#undef STATE
#define REASON(name, letter, word, message) {"reasons", word, message},
#include "tbl/reasons.h"
#undef REASON
#define METRIC(id, kind, name, help) {"metrics", name, help},
#include "tbl/metrics.h"
#undef METRIC
#define RIGHT(name, when, probe, message) {"rights", "+" name, message},
#include "tbl/rights.h"
#undef RIGHT
};

static bool
put_meanings(const char *list)
{
	bool some = false;
	for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
		if (strcmp(meanings[i].list, list) != 0)
			continue;
		if (!some)
			puts(".Bl -tag -width Ds");
		some = true;
		if (meanings[i].name[0] == '\0')
			continue;
		put_item(meanings[i].name);
		put_line(meanings[i].message);
	}
	if (some)
		puts(".El");
	return some;
}

static void
put_faults(void)
{
	puts(".Bl -bullet");
#define FAULT(name, message) \
	puts(".It"); \
	put_line(message);
#include "tbl/faults.h"
#undef FAULT
	puts(".El");
}

/* --- problems --- */

#define SAME_KEY "same-key"
#define NEW_KEY "new-key"
#define FIX_REQUEST "fix-request"

static void
put_problems(void)
{
	static const struct {
		int status;
		const char *type, *retry;
		int after_s;
		const char *detail;
	} problems[] = {
#define PROBLEM(name, status, type, retry, after, title, detail) \
	{status, type, retry, after, detail},
#include "tbl/problems.h"
#undef PROBLEM
	};
	puts(".Bl -tag -width Ds");
	for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
		char name[96];
		snprintf(name, sizeof name, "%d %s", problems[i].status,
		    problems[i].type);
		put_item(name);
		put_line(problems[i].detail);
		printf("Retry: ");
		put_mdoc(problems[i].retry);
		if (problems[i].after_s > 0)
			printf(", after %d s", problems[i].after_s);
		puts(".");
	}
	puts(".El");
}

/* --- events --- */

static void
put_events(void)
{
	static const struct {
		const char *name, *level, *message;
	} events[] = {
#define EVENT(name, level, message) {#name, #level, message},
#include "tbl/events.h"
#undef EVENT
	};
	puts(".Bl -tag -width Ds");
	for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
		/* Without a message it is described by hand. */
		if (events[i].message[0] == '\0')
			continue;
		printf(".It Sy \"");
		put_mdoc(events[i].name);
		printf("\" Pq ");
		for (const char *c = events[i].level; *c != '\0'; c++)
			putchar(tolower((unsigned char)*c));
		putchar('\n');
		put_line(events[i].message);
	}
	puts(".El");
}

/* --- what doctor finds --- */

static void
put_findings(void)
{
	static const struct {
		const char *name, *level, *message, *cure;
	} findings[] = {
#define FINDING(name, level, needs, well, message, cure) \
	{#name, #level, message, cure},
#include "tbl/findings.h"
#undef FINDING
	};
	puts(".Bl -tag -width Ds");
	for (size_t i = 0; i < sizeof findings / sizeof *findings; i++) {
		bool fails = !strcmp(findings[i].level, "FAIL");
		put_item(findings[i].name);
		puts(fails ? "Failure:" : "Warning:");
		put_filled(findings[i].message, "{}", "}");
		puts(".br\n.Em To do :");
		put_filled(findings[i].cure, "{}", "}");
	}
	puts(".El");
}

/* --- what check warns of --- */

/* Where an expression chooses the member, the first one counts. */
static void
put_warnings(void)
{
	static const struct {
		const char *member, *words;
	} warnings[] = {
#define FIRST(first, ...) first
#define WARN_FILE(member, when, ...) {#member, FIRST(__VA_ARGS__, )},
#define WARN_TOKEN(when, ...) {"\"admin.token\"", FIRST(__VA_ARGS__, )},
#define WARN_UPSTREAM(at, when, ...) {"\"upstreams\"", FIRST(__VA_ARGS__, )},
#define WARN_METHOD(when, ...) {"\"methods\"", FIRST(__VA_ARGS__, )},
#define WARN_KEY WARN_FILE
#define WARN_SCOPE WARN_FILE
#define WARN_POLICY WARN_FILE
#include "tbl/warnings.h"
	};
	const char *last = "";
	puts(".Bl -tag -width Ds");
	for (size_t i = 0; i < sizeof warnings / sizeof *warnings; i++) {
		const char *member = strchr(warnings[i].member, '"') + 1;
		char name[64];
		snprintf(name, sizeof name, "%.*s", (int)strcspn(member, "\""),
		    member);
		if (!strcmp(warnings[i].member, last))
			puts(".Pp");
		else
			put_item(name);
		put_filled(warnings[i].words, "%", "sd");
		last = warnings[i].member;
	}
	puts(".El");
}

/* --- presets --- */

static void
put_preset(const char *name, enum api_preset preset)
{
	json_t *members = api_preset_members(preset), *value;
	const char *member;
	put_item(name);
	put_line(api_presets[preset].sentence);
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

static void
put_presets(void)
{
	puts(".Bl -tag -width Ds");
#define PRESET(name, word, ...) put_preset(word, API_PRESET_##name);
#define PRESET_SAYS(...)
#include "tbl/presets.h"
#undef PRESET
#undef PRESET_SAYS
	puts(".El");
}

/* --- all of it --- */

bool
manual_print(char **words)
{
	static const struct {
		const char *name;
		void (*put)(void);
	} lists[] = {{"problems", put_problems}, {"events", put_events},
	    {"faults", put_faults}, {"findings", put_findings},
	    {"presets", put_presets}, {"warnings", put_warnings}};
	if (!strcmp(words[0], "options"))
		return words[1] != NULL && put_options(words + 1);
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		if (!strcmp(words[0], lists[i].name)) {
			lists[i].put();
			return true;
		}
	return put_meanings(words[0]);
}
