/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "conf/nearest.h"
#include "conf/scopes.h"
#include "operators/commands/gateway.h"
#include "operators/commands/input.h"
#include "operators/commands/keys_ids_private.h"
#include "operators/commands/keys_verb_private.h"
#include "operators/commands/print.h"
#include "operators/commands/usage.h"
#include "operators/commands/values.h"

/* --- asking --- */

static struct gateway
gateway_of(const struct keys_line *line)
{
	return (struct gateway){"keys", line->file, line->conf};
}

/* The answer is one record. */
static int
ask_of_one(struct keys_line *line, const char *method, const char *target,
    json_t *in)
{
	json_t *record = NULL;
	const struct gateway gateway = gateway_of(line);
	if (gateway_ask(&gateway, method, target, in, &record) != GATEWAY_WELL)
		return KEYS_REFUSED;
	if (line->as_json) {
		print_json(record);
	} else {
		fputs(line->n_shown++ > 0 ? "\n" : "", stdout);
		values_object(record);
	}
	json_decref(record);
	return KEYS_WELL;
}

/* --- the verbs --- */

static bool
has_labels(const json_t *keys)
{
	size_t at;
	json_t *key;
	json_array_foreach(keys, at, key)
		if (json_object_get(key, "label") != NULL)
			return true;
	return false;
}

static void
print_list(const struct keys_line *line, const json_t *keys, bool more)
{
	static const struct values_column columns[] = {
	    {"KEY_ID", "key_id", false}, {"STATE", "state", false},
	    {"REASON", "reason", false}, {"ATTEMPT", "attempt", false},
	    {"CHANGED", "changed", false}, {"AGE", "changed", true},
	    {"ROUTE", "route", false}, {"LABEL", "label", false}};
	size_t n_columns = sizeof columns / sizeof *columns;
	if (json_array_size(keys) > 0)
		values_table(keys, columns, n_columns - !has_labels(keys));
	else if (line->find != NULL || line->route != NULL)
		printf("No such record is PROCESSING, UNKNOWN or FAILED.\n"
		       "One that is COMPLETED is found by its whole KEY_ID.\n"
		       "%s", line->find == NULL ? "" :
		       "A client's key is found by show --key KEY "
		       "--scope 'NAME: VALUE'.\n");
	else if (line->state != NULL)
		printf("No record is %s.\n", line->state);
	else
		puts("No record is PROCESSING, UNKNOWN or FAILED.");
	if (more)
		printf("There are more; --limit %ld shows twice as many.\n",
		    2 * line->limit);
}

/* "&NAME=VALUE" behind a target; nothing where there is no value. */
static char *
with_parameter(char *target, const char *name, const char *value)
{
	if (value == NULL)
		return target;
	char *encoded = gateway_encode(value);
	char *longer = mem_printf("%s&%s=%s", target, name, encoded);
	free(encoded);
	free(target);
	return longer;
}

/* Of another configuration's there may be records all the same. */
static bool
has_route(const struct conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->n_routes; i++)
		if (!strcmp(conf->routes[i].name, name))
			return true;
	return false;
}

/* Which routes have keys, and which of them may have been meant. */
static void
say_no_route(const struct keys_line *line)
{
	struct nearest nearest = nearest_to(span_str(line->route));
	const char *before = "; those with keys are ";
	fputs("onceproxy keys: no record is of a route ", stderr);
	print_safely(stderr, line->route);
	fputs(", and the configuration has none of this name", stderr);
	for (size_t i = 0; i < line->conf->n_routes; i++) {
		const struct conf_route *route = &line->conf->routes[i];
		if (route->idempotency == NULL)
			continue;
		nearest_try(&nearest, span_str(route->name));
		fputs(before, stderr);
		print_safely(stderr, route->name);
		before = ", ";
	}
	if (nearest.found.ptr != NULL) {
		fputs("; did you mean ", stderr);
		print_safely(stderr, nearest.found.ptr);
		putc('?', stderr);
	}
	putc('\n', stderr);
}

int
keys_verb_list(struct keys_line *line)
{
	const struct gateway gateway = gateway_of(line);
	json_t *all = NULL;
	char *target = mem_str(SPAN("/keys?"));
	target = with_parameter(target, "state", line->state);
	target = with_parameter(target, "route", line->route);
	target = with_parameter(target, "find", line->find);
	enum gateway_code code =
	    gateway_ask_list(&gateway, target, "keys", line->limit, &all);
	free(target);
	if (code != GATEWAY_WELL)
		return KEYS_REFUSED;
	const json_t *keys = json_object_get(all, "keys");
	bool lost = line->route != NULL && json_array_size(keys) == 0 &&
	    line->conf->n_routes > 0 && !has_route(line->conf, line->route);
	if (line->as_json)
		print_json(all);
	else if (!lost)
		print_list(line, keys,
		    json_is_string(json_object_get(all, "next")));
	if (lost)
		say_no_route(line);
	json_decref(all);
	return lost ? KEYS_REFUSED : KEYS_WELL;
}

int
keys_verb_find(struct keys_line *line)
{
	if (line->find == NULL || *line->find == '\0')
		return usage_wrong("keys", "find needs a text");
	line->find = keys_ids_of_instance(line->find);
	return keys_verb_list(line);
}

/* What one of the records is asked; one that is refused stops no other. */
static int
ask_of_each(
    struct keys_line *line, const char *method, const char *behind, json_t *in)
{
	int worst = KEYS_WELL;
	for (size_t i = 0; i < line->n_ids; i++) {
		char *target = mem_printf("/keys/%s%s", line->ids[i], behind);
		int code = ask_of_one(line, method, target, json_incref(in));
		if (code != KEYS_WELL && line->n_ids > 1)
			fprintf(stderr, "onceproxy keys: that was said of %s\n",
			    line->ids[i]);
		worst |= code;
		free(target);
	}
	json_decref(in);
	return worst;
}

/* --- whose key is meant --- */

static bool
names_scope(const struct conf_scopes *scopes, const char *name)
{
	bool named = false;
	for (size_t i = 0; i < scopes->count && !named; i++) {
		char *own = scopes_name(&scopes->list[i]);
		named = !strcasecmp(own, name);
		free(own);
	}
	return named;
}

/* Whether a key of the route may have the scope that was given. */
static bool
scope_fits(const struct conf_route *route, json_t *given)
{
	const char *name;
	json_t *value;
	const struct conf_scopes *scopes = &route->idempotency->scope;
	json_object_foreach(given, name, value)
		if (!names_scope(scopes, name) && strcmp(name, "jwt.iss") != 0)
			return false;
	return scopes->count == 0 || json_object_size(given) > 0;
}

/* What --namespace has for a route: one with variables may fit or not. */
static bool
namespace_fits(const struct template *own, const char *given)
{
	if (own->count != 1 || own->pieces[0].kind != TEMPLATE_TEXT)
		return given != NULL;
	return span_eq(own->pieces[0].text,
	    given != NULL ? span_str(given) : SPAN("default"));
}

/* Nothing for the one that is meant where none is given. */
static void
say_namespace(const struct template *own)
{
	if (namespace_fits(own, NULL))
		return;
	fputs(" --namespace '", stderr);
	print_safely(stderr, own->text);
	fputc('\'', stderr);
}

static bool
is_given(json_t *given, const char *wanted)
{
	const char *name;
	json_t *value;
	json_object_foreach(given, name, value)
		if (!strcasecmp(name, wanted))
			return true;
	return false;
}

/* Adds it where it is not among those given; how many that are. */
static size_t
put_scope(FILE *out, const char *name, json_t *given)
{
	if (is_given(given, name))
		return 0;
	fprintf(out, " --scope '%s: VALUE'", name);
	return 1;
}

/* As --scope has them, each that is not given; the caller frees it. */
static char *
scopes_text(
    const struct conf_scopes *scopes, json_t *given, size_t *ret_count)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	must(out != NULL);
	*ret_count = 0;
	for (size_t i = 0; i < scopes->count; i++) {
		const struct conf_scope *scope = &scopes->list[i];
		char *name = scopes_name(scope);
		*ret_count += put_scope(out, name, given);
		free(name);
		if (scope->kind == SCOPE_JWT && scope->issuer == NULL)
			*ret_count += put_scope(out, "jwt.iss", given);
	}
	must(fclose(out) == 0);
	return text;
}

/* What --namespace and --scope have to be for a route; begin: a title, once. */
static void
say_scopes(const struct conf_route *route, json_t *given, bool fits,
    const char **begin)
{
	const struct conf_scopes *scopes = &route->idempotency->scope;
	size_t count;
	char *text = scopes_text(scopes, fits ? given : NULL, &count);
	if (fits && count == 0) {
		free(text);
		return;
	}
	fprintf(stderr, "%s  route ", *begin);
	*begin = "";
	print_safely(stderr, route->name);
	fputc(':', stderr);
	if (!fits)
		say_namespace(&route->idempotency->namespace);
	fputs(count > 0 ? text : " no --scope", stderr);
	/* A tenant is all of them that its request had, and nothing else. */
	if (fits || count > 1)
		fputs(fits ? " besides, if the request had it"
			   : " (those that the request had)",
		    stderr);
	fputc('\n', stderr);
	free(text);
}

/* Of each route that may be meant, and of which not all is given. */
static void
say_routes(const struct keys_line *line)
{
	const struct conf *conf = line->conf;
	const char *begin = "other scopes that this configuration knows:\n";
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_route *route = &conf->routes[i];
		if (route->idempotency != NULL)
			say_scopes(route, line->scope,
			    scope_fits(route, line->scope) &&
				namespace_fits(&route->idempotency->namespace,
				    line->namespace),
			    &begin);
	}
}

/* By what the client sent. */
static int
look_up(struct keys_line *line, const char *query)
{
	json_t *in = json_pack("{s:s*, s:O*, s:O*}", "key", line->key,
	    "values", line->values, "scope", line->scope);
	if (in == NULL)
		return usage_wrong("keys", "--key must be UTF-8");
	if (line->namespace != NULL)
		json_object_set_new(
		    in, "namespace", json_string(line->namespace));
	char *target = mem_printf("/keys/lookup%s", query);
	int code = ask_of_one(line, "POST", target, in);
	free(target);
	if (code != KEYS_WELL)
		say_routes(line);
	return code;
}

int
keys_verb_show(struct keys_line *line)
{
	const char *query = line->with_body ? "?body=1" : "";
	int ways = (line->key != NULL) + (line->n_ids > 0) +
	    (line->values != NULL);
	if (ways != 1)
		return usage_wrong(
		    "keys", "show takes a KEY_ID, or --key, or --json-value");
	if (line->n_ids > 0 && (line->namespace != NULL || line->scope))
		return usage_wrong("keys",
		    "--namespace and --scope need --key or --json-value");
	return line->n_ids > 0 ? ask_of_each(line, "GET", query, NULL)
			       : look_up(line, query);
}

static int
act_on_keys(
    struct keys_line *line, const char *method, const char *word, json_t *in)
{
	if (line->attempt > 0)
		json_object_set_new(
		    in, "attempt", json_integer(line->attempt));
	if (line->note != NULL &&
	    json_object_set_new(in, "note", json_string(line->note)) != 0) {
		json_decref(in);
		return usage_wrong("keys", "--note must be UTF-8");
	}
	return ask_of_each(line, method, word, in);
}

/* What is executed again cannot be taken back; scripts mean it. */
int
keys_verb_release(struct keys_line *line)
{
	static const struct keys_question question = {"Release",
	    "The next retry executes: only if the API says that it did not "
	    "happen.", "released"};
	int code = isatty(STDIN_FILENO) ? keys_ids_ask(line, &question)
					: KEYS_WELL;
	return code == KEYS_WELL
	    ? act_on_keys(line, "POST", "/release", json_object())
	    : code;
}

int
keys_verb_delete(struct keys_line *line)
{
	static const struct keys_question question = {"Forget",
	    "The next request with its key executes.", "deleted"};
	int code = keys_ids_ask(line, &question);
	return code == KEYS_WELL
	    ? act_on_keys(line, "DELETE", "", json_object())
	    : code;
}

static void
put_body(json_t *in, const char *bytes, size_t len)
{
	if (utf8_is_valid(span_of(bytes, len))) {
		json_object_set_new(in, "body", json_stringn(bytes, len));
		return;
	}
	char *text = base64_text(span_of(bytes, len));
	json_object_set_new(in, "body_base64", json_string(text));
	free(text);
}

static bool
names_type(json_t *headers)
{
	size_t i;
	json_t *pair;
	json_array_foreach(headers, i, pair)
		if (!strcasecmp(json_string_value(json_array_get(pair, 0)),
			"Content-Type"))
			return true;
	return false;
}

/* Every retry is given that for ever: what is JSON is said to be that. */
static void
name_type(json_t *in, const char *bytes, size_t len)
{
	json_t *headers = json_object_get(in, "headers");
	json_t *body = json_loadb(bytes, len, 0, NULL);
	if (body != NULL && !names_type(headers)) {
		if (headers == NULL) {
			headers = json_array();
			json_object_set_new(in, "headers", headers);
		}
		json_array_append_new(headers,
		    json_pack("[s, s]", "Content-Type", "application/json"));
	}
	json_decref(body);
}

/* An answer that was forgotten cannot be put in later; scripts mean it. */
static int
ask_without_body(const struct keys_line *line)
{
	static const struct keys_question question = {"Complete",
	    "There is no --body-file: every retry gets an empty answer, for "
	    "good.", "completed"};
	bool has_none = line->status == 204 || line->status == 304;
	return line->body_file == NULL && !has_none && isatty(STDIN_FILENO)
	    ? keys_ids_ask(line, &question)
	    : KEYS_WELL;
}

int
keys_verb_complete(struct keys_line *line)
{
	char *bytes = NULL;
	size_t len = 0;
	if (line->status == 0)
		return usage_wrong("keys", "complete needs --status");
	int code = ask_without_body(line);
	if (code != KEYS_WELL)
		return code;
	if (line->body_file != NULL &&
	    !input_read(line->body_file, &bytes, &len)) {
		fprintf(stderr, "onceproxy keys: %s: %s\n", line->body_file,
		    strerror(errno));
		return KEYS_REFUSED;
	}
	json_t *in = json_pack("{s:i, s:O*}", "status", (int)line->status,
	    "headers", line->headers);
	must(in != NULL);
	if (bytes != NULL) {
		put_body(in, bytes, len);
		name_type(in, bytes, len);
	}
	free(bytes);
	return act_on_keys(line, "POST", "/complete", in);
}
