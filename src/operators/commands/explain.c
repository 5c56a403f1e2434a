/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "conf/kinds.h"
#include "conf/load/conf_load.h"
#include "conf/show.h"
#include "conf/token/token_keys.h"
#include "conf/token/token_set.h"
#include "operators/commands/explain.h"
#include "operators/commands/print.h"
#include "operators/commands/table.h"

/* --- values --- */

/* Writes strings without their quotes, and lists with commas. */
static void
write_value(FILE *out, json_t *value)
{
	size_t i;
	json_t *element;
	const char *name, *comma = "";
	if (json_is_string(value) && json_string_length(value) > 0) {
		fputs(json_string_value(value), out);
	} else if (json_is_array(value) && json_array_size(value) > 0) {
		json_array_foreach(value, i, element) {
			fputs(i > 0 ? ", " : "", out);
			write_value(out, element);
		}
	} else if (json_is_object(value) && json_object_size(value) > 0) {
		json_object_foreach(value, name, element) {
			bool nested = json_is_object(element) ||
			    json_is_array(element);
			/* "425 release" stays in one line. */
			fprintf(out, "%s%s%s", comma, name,
			    nested ? " " : TABLE_NO_BREAK);
			write_value(out, element);
			comma = ", ";
		}
	} else if (value == NULL) {
		fputs("none", out);
	} else {
		json_dumpf(value, out, JSON_ENCODE_ANY);
	}
}

/*
 * Makes the text of a value for a table, which the caller frees; the value
 * stays the caller's.
 */
static char *
value_text(json_t *value)
{
	char *text = NULL;
	FILE *out = mem_stream(&text);
	write_value(out, value);
	must(fclose(out) == 0);
	return text;
}

/* Of the option of a group that fills the field; there is one. */
static char *
option_text(enum group group, size_t offset, const void *base)
{
	size_t i = 0;
	while (i < n_options &&
	    (options[i].group != group || options[i].offset != offset))
		i++;
	must(i < n_options);
	json_t *value = show_option(&options[i], base);
	char *text = value_text(value);
	json_decref(value);
	return text;
}

/* --- routes --- */

#define POLICY_TEXT(policy, field)      \
	option_text(GROUP_IDEMPOTENCY,  \
	    offsetof(struct conf_idempotency, field), (policy))

/* Adds a line about a route; frees the text. */
static void
add_line(struct table *table, const char *name, char *text)
{
	const char *cells[] = {name, text};
	table_row(table, cells);
	free(text);
}

/* Says where the key comes from. */
static char *
key_text(const struct conf_route *route)
{
	const struct conf_idempotency *policy = route->idempotency;
	bool derived = policy->derive_from_body ||
	    policy->derive_from.count > 0;
	char *fields = POLICY_TEXT(policy, headers);
	char *from = POLICY_TEXT(policy, derive_from);
	char *text = mem_printf("%s%s%s%s%s", fields,
	    derived ? ", or from " : "", derived ? from : "",
	    policy->required ? "" : ", or none",
	    route->observes ? ", only observed" : "");
	free(fields);
	free(from);
	return text;
}

/*
 * Adds the scope, which says whose a key is, the parts of it that a client
 * names without proof, and the keys that a token is verified by.
 */
static void
add_scope(struct table *table, const struct conf_idempotency *policy)
{
	const struct conf_scopes *scopes = &policy->scope;
	bool has[SCOPE_JWT + 1] = {false};
	char *kinds = POLICY_TEXT(policy, scope);
	for (size_t i = 0; i < scopes->count; i++)
		has[scopes->list[i].kind] = true;
	add_line(table, "scope",
	    scopes->count == 0
		? mem_str(SPAN("one for all"))
		: mem_printf("%s%s", kinds,
		      scopes->count > 1 ? ": all that a request has of these "
					  "is its tenant"
					: ""));
	free(kinds);
	for (size_t i = 0; i < scopes->count; i++) {
		const struct token_set *set = scopes->list[i].set;
		if (set == NULL)
			continue;
		char *used = token_set_words(set, token_keys_used);
		char *left = token_set_words(set, token_keys_left);
		add_line(table, "tokens", used != NULL ? used
			: mem_printf("fetched from %s", scopes->list[i].keys));
		if (left != NULL)
			add_line(table, "left out", left);
	}
	bool user = has[SCOPE_BASIC], path = has[SCOPE_PATH];
	if ((user || path) && !has[SCOPE_JWT] && !has[SCOPE_CERTIFICATE])
		add_line(table, "unverified",
		    mem_printf("%s%s%s: who sends the same tenant and key gets "
			       "the stored answer",
			user ? "the password" : "",
			user && path ? " and " : "", path ? "the path" : ""));
}

/* What each status means: "500 stored, 502 504 unknown, 4xx free again". */
static char *
statuses_text(const struct conf_idempotency *policy)
{
	static const struct {
		enum disposition disposition;
		const char *words;
	} meanings[] = {
	    {DISPOSITION_STORE, "stored"},
	    {DISPOSITION_UNKNOWN, "unknown"},
	    {DISPOSITION_RELEASE, "free again"},
	    {DISPOSITION_FORGET, "forgotten"},
	};
	char *text = NULL;
	const char *comma = "";
	FILE *out = mem_stream(&text);
	for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
		enum disposition wanted = meanings[i].disposition;
		bool some = false;
		for (int status = 200; status < 600; status++) {
			int class = status / 100 * 100;
			enum disposition usual =
			    conf_usual_outcome(policy->outcomes + class);
			/* All is stored as a rule, and of 500 it is doubted. */
			bool named = status == class &&
			    wanted != DISPOSITION_STORE && usual == wanted;
			bool other = policy->outcomes[status] == wanted &&
			    (usual != wanted ||
				(status == 500 && wanted == DISPOSITION_STORE));
			const char *before = some ? TABLE_NO_BREAK : comma;
			if (named)
				fprintf(out, "%s%dxx", before, class / 100);
			else if (other)
				fprintf(out, "%s%d", before, status);
			some |= named || other;
		}
		if (some)
			fprintf(out, "%s%s", TABLE_NO_BREAK, meanings[i].words);
		comma = some ? ", " : comma;
	}
	must(fclose(out) == 0);
	return text;
}

/* What becomes of an outcome that nobody knows. */
static char *
unknown_text(const struct conf_idempotency *policy)
{
	const struct conf_reconcile *asked = &policy->reconcile;
	const struct conf_witness *witness = &policy->witness;
	char *settle = option_text(GROUP_RECONCILE,
	    offsetof(struct conf_idempotency, reconcile.settle_ms), policy);
	char *asks = mem_printf("after %s, ask %s%s", settle,
	    asked->path.text != NULL ? asked->path.text : "",
	    asked->n_headers > 0 ? ", without a client, too" : "");
	free(settle);
	if (policy->on_unknown == UNKNOWN_RECONCILE)
		return asks;
	char *text = policy->on_unknown != UNKNOWN_WITNESS
	    ? POLICY_TEXT(policy, on_unknown)
	    : mem_printf("ask %s of %s, without a client, too: a row that is "
			 "done is the answer, none frees the key; started: %s; "
			 "%s%s", witness->table, witness->broker->name,
		  witness->then_reconcile ? asks : "hold",
		  witness->enforced_by != NULL
		      ? "proven by "
		      : "no proof, but a guard (no enforced_by)",
		  witness->enforced_by != NULL ? witness->enforced_by : "");
	free(asks);
	return text;
}

static void
add_policy(struct table *table, const struct conf_route *route)
{
	const struct conf_idempotency *policy = route->idempotency;
	if (policy->preset != API_PRESET_NONE)
		add_line(table, "preset", POLICY_TEXT(policy, preset));
	add_line(table, "key", key_text(route));
	add_line(table, "namespace", POLICY_TEXT(policy, namespace));
	add_scope(table, policy);
	add_line(table, "label",
	    policy->label_key || policy->labels.count > 0
		? POLICY_TEXT(policy, labels)
		: mem_str(SPAN("none")));
	if (route->observes) {
		add_line(table, "retries",
		    mem_str(SPAN("pass through, and are counted")));
		return;
	}
	char *most = POLICY_TEXT(policy, wait_timeout_ms);
	int64_t other = policy->problems[ROUTE_PROBLEM_IN_FLIGHT];
	add_line(table, "in flight", policy->in_flight == IN_FLIGHT_WAIT
		? mem_printf("waits %s", most)
		: mem_printf("%d", other != 0 ? (int)other : 409));
	free(most);
	add_line(table, "unknown", unknown_text(policy));
	add_line(table, "statuses", statuses_text(policy));
	add_line(table, "kept", POLICY_TEXT(policy, retention_ms));
	if (route->status != NULL)
		add_line(table, "a key",
		    mem_printf("GET %s tells its state", route->status->path));
	if (route->policy != NULL)
		add_line(table, "policy",
		    mem_printf("GET %s tells it", route->policy->path));
}

static void
print_route(const struct conf_route *route, size_t width)
{
	struct table *table = table_new(2, NULL);
	bool passed = route->idempotency == NULL;
	char *methods = option_text(
	    GROUP_ROUTE, offsetof(struct conf_route, methods), route);
	fputs("  ", stdout);
	print_safely(stdout, route->name);
	putchar('\n');
	add_line(table, "request",
	    mem_printf("%s %s", route->methods.count > 0 ? methods : "any",
		route->path));
	free(methods);
	add_line(table, "upstream",
	    mem_printf("%s%s", route->upstream->name,
		passed ? ", passed through" : ""));
	if (!passed)
		add_policy(table, route);
	table_print(table, 4, width);
	table_free(&table);
}

/* --- settings --- */

/* The settings of one group, and those that they are compared with. */
struct settings {
	struct table *table;
	enum group group;
	const void *presets; /* the struct of the group, of defaults */
	bool only_others;    /* leave out what is the same as there */
	/* Of a broker or a source, whose kind may not have all of them. */
	const struct conf_broker *broker;
};

/* A setting of an object that is not there has its default all the same. */
static json_t *
setting_of(const struct option *option, const void *base)
{
	json_t *value = show_option(option, base);
	const char *preset = option_preset(option);
	return value == NULL && preset != NULL
	    ? json_loads(preset, JSON_DECODE_ANY, NULL)
	    : value;
}

/* Adds a setting's mark, its path and its value; false: it is left out. */
static bool
add_setting(const struct settings *settings, const struct option *option,
    const void *base)
{
	json_t *value = setting_of(option, base);
	json_t *usual = setting_of(option, settings->presets);
	bool is_usual = (value == usual || json_equal(value, usual)) &&
	    (value == NULL || !option_required(option));
	char *text = value_text(value);
	const char *cells[] = {is_usual ? "*" : " ", option->path, text};
	bool shown = !is_usual || !settings->only_others;
	if (shown)
		table_row(settings->table, cells);
	free(text);
	json_decref(value);
	json_decref(usual);
	return shown;
}

/* Prints one group under its title, if it has any. */
static void
print_settings(const char *title, const char *name, struct settings settings,
    const void *base, size_t width)
{
	bool some = false;
	settings.table = table_new(3, NULL);
	for (size_t i = 0; i < n_options; i++) {
		enum option_type type = options[i].type;
		/* These stand in groups of their own. */
		bool apart = type == TYPE_UPSTREAMS || type == TYPE_ROUTES ||
		    type == TYPE_DEFAULTS || type == TYPE_BROKERS ||
		    type == TYPE_SOURCES || type == TYPE_RELAYS ||
		    type == TYPE_IDEMPOTENCY;
		if (options[i].group == settings.group && !apart &&
		    (settings.broker == NULL ||
			kinds_fit(&options[i], settings.broker->kind)))
			some |= add_setting(&settings, &options[i], base);
	}
	if (some) {
		putchar('\n');
		print_safely(stdout, title);
		if (name != NULL) {
			putchar(' ');
			print_safely(stdout, name);
		}
		puts(":");
		table_print(settings.table, 0, width);
	}
	table_free(&settings.table);
}

/* Prints the settings of brokers, sources and relays. */
static void
print_messages(
    const struct conf *conf, const struct conf *presets, size_t width)
{
	struct conf_source source = presets->sources[0];
	struct settings settings = {
	    NULL, GROUP_BROKER, &presets->brokers[0], false, NULL};
	for (size_t i = 0; i < conf->n_brokers; i++) {
		settings.broker = &conf->brokers[i];
		print_settings("Broker", conf->brokers[i].name, settings,
		    &conf->brokers[i], width);
	}
	settings.group = GROUP_SOURCE;
	settings.presets = &source;
	for (size_t i = 0; i < conf->n_sources; i++) {
		settings.broker = source.broker = conf->sources[i].broker;
		source.dead_letters = conf_usual_dead_letters(
		    presets->arena, &conf->sources[i]);
		print_settings("Source", conf->sources[i].name, settings,
		    &conf->sources[i], width);
	}
	settings.group = GROUP_RELAY;
	settings.presets = &presets->relays[0];
	settings.broker = NULL;
	for (size_t i = 0; i < conf->n_relays; i++)
		print_settings("Relay", conf->relays[i].name, settings,
		    &conf->relays[i], width);
}

void
explain_text(const struct conf *conf)
{
	size_t width = table_terminal_width();
	const struct conf *presets = conf_load_defaults();
	puts("\nRoutes (the first that matches serves a request; no other "
	     "path is served):");
	for (size_t i = 0; i < conf->n_routes; i++)
		print_route(&conf->routes[i], width);
	struct settings settings = {
	    NULL, GROUP_ROOT, presets, false, NULL};
	print_settings("Settings (* is the default)", NULL, settings, conf,
	    width);
	settings.group = GROUP_UPSTREAM;
	settings.presets = &presets->upstreams[0];
	for (size_t i = 0; i < conf->n_upstreams; i++)
		print_settings("Upstream", conf->upstreams[i].name, settings,
		    &conf->upstreams[i], width);
	settings.group = GROUP_IDEMPOTENCY;
	settings.presets = presets->defaults;
	print_settings("Idempotency, unless a route says otherwise", NULL,
	    settings, conf->defaults, width);
	settings.presets = conf->defaults;
	settings.only_others = true;
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].idempotency != NULL)
			print_settings("Idempotency of route",
			    conf->routes[i].name, settings,
			    conf->routes[i].idempotency, width);
	print_messages(conf, presets, width);
	conf_unref(&presets);
}
