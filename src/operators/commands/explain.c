/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "conf/kinds.h"
#include "conf/load/conf_load.h"
#include "conf/show.h"
#include "conf/token/token_file.h"
#include "operators/commands/explain.h"
#include "operators/commands/explain_value.h"
#include "operators/commands/print.h"
#include "operators/commands/table.h"

void
explain_json(const struct conf *conf)
{
	json_t *all = show_conf(conf);
	print_json(all);
	json_decref(all);
}

static char *
option_text(enum group group, size_t offset, const void *base)
{
	json_t *value = show_option(option_at(group, offset), base);
	char *text = explain_value_text(value);
	json_decref(value);
	return text;
}

/* --- what each route does --- */

#define POLICY_TEXT(policy, field)      \
	option_text(GROUP_IDEMPOTENCY,  \
	    offsetof(struct conf_idempotency, field), (policy))

/* Where the key comes from. */
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

static char *
scope_text(const struct conf_idempotency *policy)
{
	if (policy->scope.count == 0)
		return mem_str(SPAN("one for all"));
	char *kinds = POLICY_TEXT(policy, scope);
	char *text = mem_printf("%s%s", kinds, policy->scope.count > 1
		? ": all that a request has of these is its tenant"
		: "");
	free(kinds);
	return text;
}

static bool
has_scope(const struct conf_idempotency *policy, enum scope_kind kind)
{
	for (size_t i = 0; i < policy->scope.count; i++)
		if (policy->scope.list[i].kind == kind)
			return true;
	return false;
}

/* What of the tenant a client only says; NULL: it proves who it is. */
static char *
unverified_text(const struct conf_idempotency *policy)
{
	bool user = has_scope(policy, SCOPE_BASIC);
	bool path = has_scope(policy, SCOPE_PATH);
	if ((!user && !path) || has_scope(policy, SCOPE_JWT) ||
	    has_scope(policy, SCOPE_CERTIFICATE))
		return NULL;
	return mem_printf("%s%s%s: who sends the same tenant and key gets the "
		"stored answer",
	    user ? "the password" : "", user && path ? " and " : "",
	    path ? "the path" : "");
}

/* A line of what a route does; frees the text. */
static void
add_line(struct table *table, const char *name, char *text)
{
	const char *cells[] = {name, text};
	table_row(table, cells);
	free(text);
}

/* Which keys verify a token, and which of its file do not. */
static void
add_keys(struct table *table, const struct conf_scope *scope)
{
	char *left = token_file_left(scope->file);
	add_line(table, "tokens", token_file_used(scope->file));
	if (left != NULL)
		add_line(table, "left out", left);
}

static char *
in_flight_text(const struct conf_idempotency *policy)
{
	char *most = POLICY_TEXT(policy, wait_timeout_ms);
	char *text = policy->in_flight == IN_FLIGHT_WAIT
	    ? mem_printf("waits %s", most)
	    : mem_str(SPAN("409"));
	free(most);
	return text;
}

static char *
unknown_text(const struct conf_idempotency *policy)
{
	if (policy->on_unknown != UNKNOWN_RECONCILE)
		return POLICY_TEXT(policy, on_unknown);
	char *settle = option_text(GROUP_RECONCILE,
	    offsetof(struct conf_idempotency, reconcile.settle_ms), policy);
	char *text = mem_printf("after %s, ask %s", settle,
	    policy->reconcile.path.text);
	free(settle);
	return text;
}

static char *
request_text(const struct conf_route *route)
{
	char *methods = option_text(
	    GROUP_ROUTE, offsetof(struct conf_route, methods), route);
	char *text = mem_printf("%s %s",
	    route->methods.count > 0 ? methods : "any", route->path);
	free(methods);
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
	add_line(table, "scope", scope_text(policy));
	for (size_t i = 0; i < policy->scope.count; i++)
		if (policy->scope.list[i].file != NULL)
			add_keys(table, &policy->scope.list[i]);
	char *unverified = unverified_text(policy);
	if (unverified != NULL)
		add_line(table, "unverified", unverified);
	add_line(table, "label",
	    policy->label_key || policy->labels.count > 0
		? POLICY_TEXT(policy, labels)
		: mem_str(SPAN("none")));
	if (route->observes) {
		add_line(table, "retries",
		    mem_str(SPAN("pass through, and are counted")));
		return;
	}
	add_line(table, "in flight", in_flight_text(policy));
	add_line(table, "unknown", unknown_text(policy));
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
	fputs("  ", stdout);
	print_safely(stdout, route->name);
	putchar('\n');
	add_line(table, "request", request_text(route));
	add_line(table, "upstream",
	    mem_printf("%s%s", route->upstream->name,
		passed ? ", passed through" : ""));
	if (!passed)
		add_policy(table, route);
	table_print(table, 4, width);
	table_free(&table);
}

static void
print_routes(const struct conf *conf, size_t width)
{
	puts("\nRoutes (the first that matches serves a request; no other "
	     "path is served):");
	for (size_t i = 0; i < conf->n_routes; i++)
		print_route(&conf->routes[i], width);
}

/* --- settings --- */

/* Settings of one group, beside those that they are compared with. */
struct settings {
	struct table *table;
	enum group group;
	const void *presets; /* the struct of the group, of defaults */
	bool only_others;    /* leave out what is the same as there */
	/* Of a broker or a source, whose kind may not have all of them. */
	const struct conf_broker *broker;
	/* With nothing but the preset that these name; NULL: they name none. */
	const void *preset;
};

/* What stands in a group of its own below. */
static bool
is_apart(const struct option *option)
{
	return option->type == TYPE_UPSTREAMS || option->type == TYPE_ROUTES ||
	    option->type == TYPE_DEFAULTS || option->type == TYPE_BROKERS ||
	    option->type == TYPE_SOURCES || option->type == TYPE_RELAYS ||
	    option->type == TYPE_IDEMPOTENCY;
}

static bool
is_same(const json_t *one, const json_t *other)
{
	return one == other ||
	    (one != NULL && other != NULL && json_equal(one, other));
}

static bool
names_preset(const struct option *option)
{
	return option_at(GROUP_IDEMPOTENCY,
		   offsetof(struct conf_idempotency, preset)) == option;
}

/* Whether the value is what the preset makes of it. */
static bool
is_of_preset(const struct settings *settings, const struct option *option,
    const json_t *value)
{
	if (settings->preset == NULL || names_preset(option))
		return false;
	json_t *made = show_option(option, settings->preset);
	bool same = is_same(value, made);
	json_decref(made);
	return same;
}

/* The caller frees it. */
static char *
setting_text(const struct settings *settings, const struct option *option,
    json_t *value)
{
	char *text = explain_value_text(value);
	if (settings->preset == NULL || !names_preset(option))
		return text;
	char *whole = mem_printf("%s (marked + here)", text);
	free(text);
	return whole;
}

/* What there is no object for has its default all the same. */
static json_t *
setting_of(const struct option *option, const void *base)
{
	json_t *value = show_option(option, base);
	const char *preset = option_preset(option);
	return value == NULL && preset != NULL
	    ? json_loads(preset, JSON_DECODE_ANY, NULL)
	    : value;
}

static void
add_settings(const struct settings *settings, const void *base)
{
	for (size_t i = 0; i < n_options; i++) {
		const struct option *option = &options[i];
		if (option->group != settings->group || is_apart(option) ||
		    (settings->broker != NULL &&
			!kinds_fit(option, settings->broker->kind)))
			continue;
		json_t *value = setting_of(option, base);
		json_t *preset = setting_of(option, settings->presets);
		bool same = is_same(value, preset) &&
		    (value == NULL || !option_required(option));
		char *text = setting_text(settings, option, value);
		const char *mark = same ? "*"
		    : is_of_preset(settings, option, value) ? "+"
							    : " ";
		const char *cells[] = {mark, option->path, text};
		if (!same || !settings->only_others)
			table_row(settings->table, cells);
		free(text);
		json_decref(value);
		json_decref(preset);
	}
}

/* One group, under its title. */
static void
print_settings(const char *title, const char *name, struct settings settings,
    const void *base, size_t width)
{
	settings.table = table_new(3, NULL);
	add_settings(&settings, base);
	putchar('\n');
	print_safely(stdout, title);
	if (name != NULL) {
		putchar(' ');
		print_safely(stdout, name);
	}
	puts(":");
	table_print(settings.table, 0, width);
	table_free(&settings.table);
}

static bool
has_others(const struct conf *conf, const struct conf_route *route)
{
	bool others = false;
	for (size_t i = 0; i < n_options && !others; i++) {
		if (options[i].group != GROUP_IDEMPOTENCY)
			continue;
		json_t *own = show_option(&options[i], route->idempotency);
		json_t *common = show_option(&options[i], conf->defaults);
		others = !is_same(own, common);
		json_decref(own);
		json_decref(common);
	}
	return others;
}

static void
print_brokers(const struct conf *conf, size_t width)
{
	struct conf_broker presets = {.name = NULL};
	conf_load_presets(GROUP_BROKER, &presets);
	struct settings settings = {
	    NULL, GROUP_BROKER, &presets, false, NULL, NULL};
	for (size_t i = 0; i < conf->n_brokers; i++) {
		settings.broker = &conf->brokers[i];
		print_settings("Broker", conf->brokers[i].name, settings,
		    &conf->brokers[i], width);
	}
	conf_load_clear(GROUP_BROKER, &presets);
}

static void
print_sources(const struct conf *conf, size_t width)
{
	struct conf_source presets = {.name = NULL};
	conf_load_presets(GROUP_SOURCE, &presets);
	struct settings settings = {
	    NULL, GROUP_SOURCE, &presets, false, NULL, NULL};
	for (size_t i = 0; i < conf->n_sources; i++) {
		settings.broker = presets.broker = conf->sources[i].broker;
		free(presets.dead_letters);
		presets.dead_letters =
		    conf_usual_dead_letters(&conf->sources[i]);
		print_settings("Source", conf->sources[i].name, settings,
		    &conf->sources[i], width);
	}
	conf_load_clear(GROUP_SOURCE, &presets);
}

static void
print_relays(const struct conf *conf, size_t width)
{
	struct conf_relay presets = {.name = NULL};
	conf_load_presets(GROUP_RELAY, &presets);
	struct settings settings = {
	    NULL, GROUP_RELAY, &presets, false, NULL, NULL};
	for (size_t i = 0; i < conf->n_relays; i++)
		print_settings("Relay", conf->relays[i].name, settings,
		    &conf->relays[i], width);
	conf_load_clear(GROUP_RELAY, &presets);
}

/* What idempotency is with nothing but that preset; NULL: none. */
static const struct conf *
load_preset(const struct conf_idempotency *policy)
{
	struct complaints complaints = {0};
	if (policy->preset == API_PRESET_NONE)
		return NULL;
	char *name = POLICY_TEXT(policy, preset);
	char *text = mem_printf("{\"listen\": [\"127.0.0.1:0\"],"
				" \"upstreams\": {\"x\": \"http://127.0.0.1\"},"
				" \"defaults\": {\"preset\": \"%s\"},"
				" \"routes\": []}",
	    name);
	const struct conf *conf =
	    conf_load_text("", span_str(text), &complaints);
	must(conf != NULL);
	free(name);
	free(text);
	return conf;
}

static void
print_idempotency(const char *title, const char *name,
    struct settings settings, const struct conf_idempotency *policy,
    size_t width)
{
	const struct conf *preset = load_preset(policy);
	settings.preset = preset != NULL ? preset->defaults : NULL;
	print_settings(title, name, settings, policy, width);
	if (preset != NULL)
		conf_unref(&preset);
}

void
explain_text(const struct conf *conf)
{
	size_t width = table_terminal_width();
	const struct conf *presets = conf_load_defaults();
	print_routes(conf, width);
	struct settings settings = {
	    NULL, GROUP_ROOT, presets, false, NULL, NULL};
	print_settings("Settings (* is the default)", NULL, settings, conf,
	    width);
	settings.group = GROUP_UPSTREAM;
	settings.presets = &presets->upstreams[0];
	for (size_t i = 0; i < conf->n_upstreams; i++)
		print_settings("Upstream", conf->upstreams[i].name, settings,
		    &conf->upstreams[i], width);
	settings.group = GROUP_IDEMPOTENCY;
	settings.presets = presets->defaults;
	print_idempotency("Idempotency, unless a route says otherwise", NULL,
	    settings, conf->defaults, width);
	settings.presets = conf->defaults;
	settings.only_others = true;
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].idempotency != NULL &&
		    has_others(conf, &conf->routes[i]))
			print_idempotency("Idempotency of route",
			    conf->routes[i].name, settings,
			    conf->routes[i].idempotency, width);
	print_brokers(conf, width);
	print_sources(conf, width);
	print_relays(conf, width);
	conf_unref(&presets);
}
