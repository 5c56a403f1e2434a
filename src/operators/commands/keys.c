/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/digest.h"
#include "base/digits.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/secret.h"
#include "base/utf8.h"
#include "conf/nearest.h"
#include "conf/scopes.h"
#include "operators/commands/keys.h"
#include "operators/commands/print.h"
#include "operators/commands/usage.h"
#include "operators/commands/values.h"

/* More than Redis has of them. */
enum { ALL_KEYS = 100000000 };

/* --- files --- */

/*
 * Reads all of a file, or of standard input, whose name is "-", and a NUL; the
 * caller frees it.  False, and said why, where it cannot be read.
 */
static bool
read_file(const char *name, char **ret_bytes, size_t *ret_len)
{
	FILE *file = strcmp(name, "-") ? fopen(name, "re") : stdin;
	size_t len = 0, size = 0, n = 1;
	char *bytes = NULL;
	while (file != NULL && n > 0) {
		if (len == size)
			bytes = mem_grow(bytes, (size = 2 * size + 65536) + 1);
		n = fread(bytes + len, 1, size - len, file);
		len += n;
	}
	bool well = file != NULL && !ferror(file);
	if (!well)
		fprintf(stderr, "onceproxy keys: %s: %s\n", name,
		    strerror(errno));
	if (file != NULL && file != stdin)
		fclose(file);
	if (!well) {
		free(bytes);
		return false;
	}
	bytes[len] = '\0';
	*ret_bytes = bytes;
	*ret_len = len;
	return true;
}

/*
 * Takes the next line off the text, without its end and the blanks around it;
 * empty ones, and those that begin with "#", are left out.  False: no more.
 */
static bool
next_line(struct span *text, struct span *ret_line)
{
	while (span_next(text, '\n', ret_line)) {
		while (ret_line->len > 0 &&
		    ret_line->ptr[ret_line->len - 1] == '\r')
			ret_line->len--;
		*ret_line = span_trim(*ret_line);
		if (ret_line->len > 0 && ret_line->ptr[0] != '#')
			return true;
	}
	return false;
}

/* --- options --- */

/*
 * Adds "Name: value" to the headers, or to the parts of the scope; false where
 * that is not UTF-8 with a colon.
 */
static bool
add_field(struct command_line *line, const char *text, bool header)
{
	const char *colon = strchr(text, ':');
	if (colon == NULL || colon == text)
		return false;
	struct span rest = span_trim(span_str(colon + 1));
	json_t *name = json_stringn(text, (size_t)(colon - text));
	json_t *value = json_stringn(rest.ptr, rest.len);
	bool well = name != NULL && value != NULL;
	if (well && header && line->headers == NULL)
		line->headers = json_array();
	if (well && !header && line->scope == NULL)
		line->scope = json_object();
	if (well && header)
		json_array_append_new(
		    line->headers, json_pack("[O, O]", name, value));
	else if (well)
		json_object_set(line->scope, json_string_value(name), value);
	json_decref(name);
	json_decref(value);
	return well;
}

/*
 * Reads a file with a line for each part of the scope, as --scope has them: a
 * token in a file stands in no list of processes.
 */
static bool
add_scope_file(struct command_line *line, const char *name)
{
	char *bytes = NULL;
	size_t len;
	struct span part;
	if (!read_file(name, &bytes, &len))
		return false;
	struct span rest = span_of(bytes, len);
	bool well = true;
	while (well && next_line(&rest, &part)) {
		char *text = mem_str(part);
		well = add_field(line, text, false);
		free(text);
	}
	secret_wipe(bytes);
	return well && line->scope != NULL;
}

/* Adds a "/POINTER=VALUE". */
static bool
add_value(struct command_line *line, const char *text)
{
	const char *sign = strchr(text, '=');
	if (*text != '/' || sign == NULL)
		return false;
	json_t *value = json_string(sign + 1);
	char *pointer = mem_str(span_of(text, (size_t)(sign - text)));
	if (line->values == NULL)
		line->values = json_object();
	bool well = value != NULL &&
	    json_object_set_new(line->values, pointer, value) == 0;
	free(pointer);
	return well;
}

static bool
set_option(struct command_line *line, char letter, const char *value)
{
	switch (letter) {
	case 'V':
		return add_value(line, value);
	case 'S':
		return add_field(line, value, false);
	case 'H':
		return add_field(line, value, true);
	default:
		return add_scope_file(line, value);
	}
}

/* --- KEY_IDs --- */

/* Takes the KEY_ID of a problem document's instance; other text stays. */
static const char *
id_of_instance(const char *text)
{
	static const char urn[] = "urn:onceproxy:key:";
	return strncmp(text, urn, sizeof urn - 1) == 0 ? text + sizeof urn - 1
							: text;
}

/* Adds one; --attempt says which attempt is meant of all. */
static int
add_id(struct command_line *line, const char *text, struct command_meant meant)
{
	uint8_t bytes[DIGEST_BYTES];
	text = id_of_instance(text);
	if (!hex_decode(span_str(text), bytes, sizeof bytes))
		return usage_wrong(
		    "keys", "a KEY_ID has %d hex digits, and this "
				       "is none: %s\n"
			    "(\"onceproxy keys find TEXT\" and \"show --key "
			    "KEY --scope 'NAME: VALUE'\" lead to it)",
		    DIGEST_HEX, text);
	line->ids = mem_grow(
	    line->ids, (line->n_ids + 1) * sizeof *line->ids);
	line->meant = mem_grow(
	    line->meant, (line->n_ids + 1) * sizeof *line->meant);
	if (line->attempt > 0)
		meant.attempt = line->attempt;
	line->meant[line->n_ids] = meant;
	line->ids[line->n_ids++] = text;
	return GATEWAY_WELL;
}

/*
 * Returns what a line of `onceproxy keys list` shows: the attempt, and behind
 * it the time; any, where it is another line.
 */
static struct command_meant
meant_by(struct span line)
{
	enum { ATTEMPT = 3, CHANGED, COUNT };
	struct span words[COUNT] = {{0}};
	struct command_meant any = {0};
	int64_t attempt, changed_ms;
	for (size_t i = 0; i < COUNT && span_next(&line, ' ', &words[i]);)
		i += words[i].len > 0;
	return digits_read(words[ATTEMPT], INT32_MAX, &attempt) &&
		rfc3339_read(words[CHANGED], &changed_ms)
	    ? (struct command_meant){(long)attempt, words[CHANGED]}
	    : any;
}

/*
 * Takes the arguments, and the first word of each line of the file, which may
 * be the output of `onceproxy keys list`: its title is left out, and the
 * records as it shows them are those that are meant.  The words become texts
 * within what was read.
 */
static int
read_ids(struct command_line *line)
{
	int code = GATEWAY_WELL;
	size_t len;
	struct span piece;
	const struct command_meant any = {0};
	for (int i = 0; i < line->n_names && code == GATEWAY_WELL; i++)
		code = add_id(line, line->names[i], any);
	if (code != GATEWAY_WELL || line->ids_file == NULL)
		return code;
	if (!read_file(line->ids_file, &line->ids_text, &len))
		return GATEWAY_REFUSED;
	struct span rest = span_of(line->ids_text, len);
	while (code == GATEWAY_WELL && next_line(&rest, &piece)) {
		struct command_meant meant = meant_by(piece);
		char *word = line->ids_text + (piece.ptr - line->ids_text);
		word[strcspn(word, " \t\r\n")] = '\0';
		if (strcmp(word, "KEY_ID") != 0)
			code = add_id(line, word, meant);
	}
	return code;
}

/* "ACT the record KEY_ID? FOLLOWS", and "nothing was DONE". */
struct keys_question {
	const char *act, *follows, *done;
};

/*
 * Asks on the terminal whether that is meant, unless the line has --yes.  An
 * exit status: whoever does not say yes says no.
 */
static int
ask_person(
    const struct command_line *line, const struct keys_question *question)
{
	char said[16] = "";
	if (line->yes)
		return GATEWAY_WELL;
	if (line->ids_file != NULL && !strcmp(line->ids_file, "-"))
		return usage_wrong("keys",
		    "nobody can be asked while --from-file is -: add --yes");
	if (line->n_ids == 1)
		fprintf(stderr, "%s the record %s? ", question->act,
		    line->ids[0]);
	else
		fprintf(stderr, "%s %zu records? ", question->act,
		    line->n_ids);
	fprintf(stderr, "%s [y/N] ", question->follows);
	if (fgets(said, sizeof said, stdin) == NULL)
		fputc('\n', stderr);
	said[strcspn(said, "\n")] = '\0';
	if (!strcasecmp(said, "y") || !strcasecmp(said, "yes"))
		return GATEWAY_WELL;
	fprintf(stderr, "onceproxy keys: nothing was %s (--yes asks nobody)\n",
	    question->done);
	return GATEWAY_REFUSED;
}

/* --- list and find --- */

static void
print_list(const struct command_line *line, const json_t *keys, bool more)
{
	static const struct values_column columns[] = {
	    {"KEY_ID", "key_id", false}, {"STATE", "state", false},
	    {"REASON", "reason", false}, {"ATTEMPT", "attempt", false},
	    {"CHANGED", "changed", false}, {"AGE", "changed", true},
	    {"ROUTE", "route", false}, {"LABEL", "label", false}};
	if (json_array_size(keys) > 0)
		values_table(keys, columns, sizeof columns / sizeof *columns);
	else if (line->find != NULL || line->route != NULL)
		printf("No such record is PROCESSING, UNKNOWN or FAILED.\n"
		       "One that is COMPLETED is found by its whole KEY_ID or "
		       "label.\n"
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

/* Names the routes that have keys, and one that may have been meant. */
static void
say_no_route(const struct command_line *line)
{
	const struct conf *conf = line->gateway.conf;
	struct nearest nearest = nearest_to(span_str(line->route));
	const char *before = "; those with keys are ";
	fputs("onceproxy keys: no record is of a route ", stderr);
	print_safely(stderr, line->route);
	fputs(", and the configuration has none of this name", stderr);
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_route *route = &conf->routes[i];
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

static int
list_keys(const struct command_line *line)
{
	const struct conf *conf = line->gateway.conf;
	json_t *all = NULL;
	char *target = mem_str(SPAN("/keys?"));
	target = admin_api_with(target, "state", line->state);
	target = admin_api_with(target, "route", line->route);
	target = admin_api_with(target, "find", line->find);
	enum admin_api_code code = admin_api_ask_list(
	    &line->gateway, target, "keys", line->limit, &all);
	free(target);
	if (code != GATEWAY_WELL)
		return GATEWAY_REFUSED;
	const json_t *keys = json_object_get(all, "keys");
	/* There may be records of a route of another configuration. */
	bool lost = line->route != NULL && json_array_size(keys) == 0 &&
	    conf->n_routes > 0;
	for (size_t i = 0; i < conf->n_routes && lost; i++)
		lost = strcmp(conf->routes[i].name, line->route) != 0;
	if (line->as_json)
		print_json(all);
	else if (!lost)
		print_list(line, keys,
		    json_is_string(json_object_get(all, "next")));
	if (lost)
		say_no_route(line);
	json_decref(all);
	return lost ? GATEWAY_REFUSED : GATEWAY_WELL;
}

/* --- show --- */

/* Says which --namespace and --scope lead to the keys of a route. */
static void
say_scopes(const struct conf_route *route)
{
	const struct conf_scopes *scopes = &route->idempotency->scope;
	const char *namespace = route->idempotency->namespace.text;
	size_t parts = 0;
	fputs("  route ", stderr);
	print_safely(stderr, route->name);
	fputc(':', stderr);
	if (strcmp(namespace, "default") != 0) {
		fputs(" --namespace '", stderr);
		print_safely(stderr, namespace);
		fputc('\'', stderr);
	}
	for (size_t i = 0; i < scopes->count; i++) {
		const struct conf_scope *scope = &scopes->list[i];
		char *name = scopes_name(scope);
		bool any = scope->kind == SCOPE_JWT && scope->issuer == NULL;
		fprintf(stderr, " --scope '%s: VALUE'%s", name,
		    any ? " --scope 'jwt.iss: VALUE'" : "");
		parts += 1 + any;
		free(name);
	}
	/* A tenant is all of them that its request had, and nothing else. */
	fputs(parts == 0 ? " no --scope\n"
		: parts > 1 ? " (those that the request had)\n"
			    : "\n",
	    stderr);
}

/* Finds the record by what the client sent, or says what else leads to it. */
static int
look_up(const struct command_line *line, const char *query)
{
	const struct conf *conf = line->gateway.conf;
	static const char *const name = "lookup";
	const struct values_request request = {"POST", "keys", query,
	    json_pack("{s:s*, s:s*, s:O*, s:O*}", "namespace",
		line->namespace, "key", line->key, "values", line->values,
		"scope", line->scope), NULL, values_object, NULL};
	int code = values_ask(line, &name, 1, &request);
	const char *title = "This configuration's routes find their keys by:\n";
	for (size_t i = 0; i < conf->n_routes && code != GATEWAY_WELL; i++) {
		if (conf->routes[i].idempotency == NULL)
			continue;
		fputs(title, stderr);
		title = "";
		say_scopes(&conf->routes[i]);
	}
	return code;
}

static int
show_keys(const struct command_line *line)
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
	const struct values_request request = {
	    "GET", "keys", query, NULL, NULL, values_object, NULL};
	return line->n_ids > 0
	    ? values_ask(line, line->ids, line->n_ids, &request)
	    : look_up(line, query);
}

/* --- acts --- */

static int
act_on_keys(const struct command_line *line, const char *method,
    const char *word, json_t *in)
{
	const struct values_request request = {
	    method, "keys", word, in, NULL, values_object, line->meant};
	if (line->note != NULL)
		json_object_set_new(in, "note", json_string(line->note));
	return values_ask(line, line->ids, line->n_ids, &request);
}

static int
free_keys(const struct command_line *line)
{
	static const struct keys_question questions[] = {
	    {"Forget", "The next request with its key executes.", "deleted"},
	    {"Release",
		"The next retry executes: only if the API says that it did not "
		"happen.", "released"}};
	bool releases = !strcmp(line->verb->name, "release");
	int code = GATEWAY_WELL;
	/* An execution cannot be taken back; scripts mean that. */
	if (!releases || isatty(STDIN_FILENO))
		code = ask_person(line, &questions[releases]);
	return code != GATEWAY_WELL ? code
	    : releases ? act_on_keys(line, "POST", "/release", json_object())
		       : act_on_keys(line, "DELETE", "", json_object());
}

/*
 * Puts the answer's body in.  Every retry is given that for ever: what is JSON
 * is said to be that, unless a header says something else.
 */
static void
put_body(json_t *in, const char *bytes, size_t len)
{
	json_t *headers = json_object_get(in, "headers");
	json_t *parsed = json_loadb(bytes, len, 0, NULL);
	bool typed = parsed == NULL;
	size_t i;
	json_t *pair;
	json_decref(parsed);
	if (utf8_is_valid(span_of(bytes, len))) {
		json_object_set_new(in, "body", json_stringn(bytes, len));
	} else {
		char *text = base64_encode(span_of(bytes, len));
		json_object_set_new(in, "body_base64", json_string(text));
		free(text);
	}
	json_array_foreach(headers, i, pair)
		typed = typed ||
		    !strcasecmp(json_string_value(json_array_get(pair, 0)),
			"Content-Type");
	if (typed)
		return;
	if (headers == NULL) {
		headers = json_array();
		json_object_set_new(in, "headers", headers);
	}
	json_array_append_new(headers,
	    json_pack("[s, s]", "Content-Type", "application/json"));
}

static int
complete_keys(const struct command_line *line)
{
	static const struct keys_question question = {"Complete",
	    "There is no --body-file: every retry gets an empty answer, for "
	    "good.", "completed"};
	char *bytes = NULL;
	size_t len = 0;
	int code = GATEWAY_WELL;
	if (line->status == 0)
		return usage_wrong("keys", "complete needs --status");
	bool has_none = line->status == 204 || line->status == 304;
	/* A body that was forgotten cannot be put in later; scripts mean it. */
	if (line->body_file == NULL && !has_none && isatty(STDIN_FILENO))
		code = ask_person(line, &question);
	if (code != GATEWAY_WELL)
		return code;
	if (line->body_file != NULL &&
	    !read_file(line->body_file, &bytes, &len))
		return GATEWAY_REFUSED;
	json_t *in = json_pack("{s:i, s:O*}", "status", (int)line->status,
	    "headers", line->headers);
	must(in != NULL);
	if (bytes != NULL)
		put_body(in, bytes, len);
	free(bytes);
	return act_on_keys(line, "POST", "/complete", in);
}

/* --- what became of them --- */

/* "KEY_ID COMPLETED 201 order-17" */
static void
print_found(json_t *record)
{
	const json_t *status = json_object_get(record, "status");
	const char *label =
	    json_string_value(json_object_get(record, "label"));
	printf("%s %s", json_string_value(json_object_get(record, "key_id")),
	    json_string_value(json_object_get(record, "state")));
	if (status != NULL)
		printf(" %d", (int)json_integer_value(status));
	if (label != NULL) {
		putchar(' ');
		print_safely(stdout, label);
	}
	putchar('\n');
	fflush(stdout);
}

static int
reconcile_keys(const struct command_line *line)
{
	const struct values_request request = {
	    "POST", "keys", "/reconcile", json_object(), NULL, print_found,
	    NULL};
	if (line->state == NULL)
		return values_ask(line, line->ids, line->n_ids, &request);
	json_t *all = NULL, *record;
	size_t i;
	char *target = admin_api_with(
	    mem_str(SPAN("/keys?state=UNKNOWN")), "route", line->route);
	int code = admin_api_ask_list(
	    &line->gateway, target, "keys", ALL_KEYS, &all);
	free(target);
	const json_t *keys = json_object_get(all, "keys");
	const char **ids = mem_zero((json_array_size(keys) + 1) * sizeof *ids);
	json_array_foreach(keys, i, record)
		ids[i] = json_string_value(json_object_get(record, "key_id"));
	if (code == GATEWAY_WELL)
		code = values_ask(
		    line, ids, json_array_size(keys), &request);
	else
		json_decref(request.in);
	free(ids);
	json_decref(all);
	return code;
}

/* --- the command --- */

static const struct verb verbs[] = {
    {"list", list_keys, "jsrl", NULL, 0,
	"list [--state STATE] [--route ROUTE] [--limit N]",
	"records that are PROCESSING, UNKNOWN or FAILED, oldest first",
	"list --state UNKNOWN"},
    {"find", list_keys, "jsrl", NULL, 1,
	"find TEXT [--state STATE] [--route ROUTE] [--limit N]",
	"those of them whose label or first request's id has that text, or\n"
	"          whose KEY_ID begins with it; by a whole label also those\n"
	"          that are COMPLETED, by a whole KEY_ID any record",
	"find order-17"},
    {"show", show_keys, "jbkVnSCF", NULL, -1,
	"show KEY_ID... [--body]\n"
	"    show --key KEY [--namespace N] [--scope 'Header: value']... "
	"[--body]\n"
	"    show --json-value /POINTER=VALUE... [--namespace N]\n"
	"        [--scope 'Header: value']... [--body]",
	"one record, by its KEY_ID, by the client's key, or by the values\n"
	"          of the body that the key is derived from; with --body,\n"
	"          also the stored answer",
	"show --key order-17 --scope 'Authorization: Bearer sk_live_1'"},
    {"release", free_keys, "jNAFy", NULL, -1,
	"release KEY_ID... [--attempt N] [--note TEXT] [--yes]",
	"it did not happen: the key is free, and the next retry executes;\n"
	"          at a terminal, asks first",
	"release 3f0e8a6c0d5b4a71b1f2c3d4e5f60718 --note 'not in the ledger'"},
    {"complete", complete_keys, "jtHfNAFy", NULL, -1,
	"complete KEY_ID... --status N [--header 'Name: value']...\n"
	"        [--body-file FILE] [--attempt N] [--note TEXT] [--yes]",
	"it happened: every retry gets this answer; FILE may be -; at a\n"
	"          terminal, asks before an answer without a body",
	"complete 3f0e8a6c0d5b4a71b1f2c3d4e5f60718 --status 201 \\\n"
	"      --header 'Content-Type: application/json' --body-file a.json"},
    {"reconcile", reconcile_keys, "jsrF", NULL, -1,
	"reconcile KEY_ID...\n"
	"    reconcile --state UNKNOWN [--route ROUTE]",
	"asks the API, or its database, now what became of them, and prints\n"
	"          what they are then, a line each",
	"reconcile --state UNKNOWN --route charges"},
    {"delete", free_keys, "jNAFy", NULL, -1,
	"delete KEY_ID... [--attempt N] [--note TEXT] [--yes]",
	"the record is forgotten, and the key can execute again; asks first",
	"delete 3f0e8a6c0d5b4a71b1f2c3d4e5f60718 --note 'a test'"},
};

/* A verb takes KEY_IDs, or a text to find, or nothing. */
static int
check_line(struct command_line *line)
{
	const struct verb *verb = line->verb;
	if (verb->most == 1) {
		if (line->n_names == 0 || *line->names[0] == '\0')
			return usage_wrong("keys", "find needs a text");
		line->find = id_of_instance(line->names[0]);
		return GATEWAY_WELL;
	}
	int code = read_ids(line);
	bool asks = verb->run == reconcile_keys;
	if (code == GATEWAY_WELL && asks && line->state != NULL &&
	    (strcmp(line->state, "UNKNOWN") != 0 || line->n_ids > 0))
		return usage_wrong("keys", "reconcile takes KEY_IDs, or "
		    "--state UNKNOWN");
	if (asks && line->state == NULL && line->route != NULL)
		return usage_wrong("keys", "--route needs --state UNKNOWN");
	if (asks && line->state != NULL)
		return code;
	if (code == GATEWAY_WELL && verb->most < 0 && line->n_ids == 0 &&
	    line->key == NULL && line->values == NULL)
		return usage_wrong("keys", "%s needs a KEY_ID", verb->name);
	return code;
}

/* The states of records that are listed. */
static const char *const states[] = {"PROCESSING", "UNKNOWN", "FAILED", NULL};

const struct command keys_command = {
    .name = "keys",
    .summary = "show and resolve records of a running gateway",
    .verbs = verbs,
    .count = sizeof verbs / sizeof *verbs,
    .about = "Shows the records of idempotency keys and resolves them, "
	     "through\nthe admin interface of a running gateway.\n",
    .kind = "record",
    .states = states,
    .set = set_option,
    .check = check_line,
};
