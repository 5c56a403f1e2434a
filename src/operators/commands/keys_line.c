/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/mem.h"
#include "operators/commands/input.h"
#include "operators/commands/keys_line_private.h"
#include "operators/commands/usage.h"

static const struct option options[] = {
    {"config", required_argument, NULL, 'c'},
    {"help", no_argument, NULL, 'h'},
    {"json", no_argument, NULL, 'j'},
    {"state", required_argument, NULL, 's'},
    {"limit", required_argument, NULL, 'l'},
    {"route", required_argument, NULL, 'r'},
    {"key", required_argument, NULL, 'k'},
    {"json-value", required_argument, NULL, 'v'},
    {"namespace", required_argument, NULL, 'n'},
    {"scope", required_argument, NULL, 'S'},
    {"body", no_argument, NULL, 'b'},
    {"status", required_argument, NULL, 't'},
    {"header", required_argument, NULL, 'H'},
    {"body-file", required_argument, NULL, 'f'},
    {"note", required_argument, NULL, 'N'},
    {"attempt", required_argument, NULL, 'A'},
    {"from-file", required_argument, NULL, 'F'},
    {"scope-file", required_argument, NULL, 'C'},
    {"yes", no_argument, NULL, 'y'},
    {NULL, 0, NULL, 0},
};

/* --- one option --- */

/* Cuts "Name: value" at its colon; false where that is not UTF-8 with one. */
static bool
cut_field(const char *text, json_t **ret_name, json_t **ret_value)
{
	const char *colon = strchr(text, ':');
	if (colon == NULL || colon == text)
		return false;
	struct span value = span_trim(span_str(colon + 1));
	*ret_name = json_stringn(text, (size_t)(colon - text));
	*ret_value = json_stringn(value.ptr, value.len);
	if (*ret_name != NULL && *ret_value != NULL)
		return true;
	json_decref(*ret_name);
	json_decref(*ret_value);
	return false;
}

static bool
add_header(struct keys_line *line, const char *text)
{
	json_t *name, *value;
	if (!cut_field(text, &name, &value))
		return false;
	if (line->headers == NULL)
		line->headers = json_array();
	json_array_append_new(
	    line->headers, json_pack("[o, o]", name, value));
	return true;
}

static bool
add_scope(struct keys_line *line, const char *text)
{
	json_t *name, *value;
	if (!cut_field(text, &name, &value))
		return false;
	if (line->scope == NULL)
		line->scope = json_object();
	json_object_set_new(line->scope, json_string_value(name), value);
	json_decref(name);
	return true;
}

/*
 * A line for each part of the scope, as --scope has them: a token in a file
 * stands in no list of processes.
 */
static bool
add_scope_file(struct keys_line *line, const char *name)
{
	char *bytes = NULL;
	size_t len;
	struct span part;
	if (!input_read(name, &bytes, &len)) {
		fprintf(stderr, "onceproxy keys: %s: %s\n", name,
		    strerror(errno));
		return false;
	}
	struct span rest = span_of(bytes, len);
	bool well = true;
	while (well && input_next(&rest, &part)) {
		char *text = mem_str(part);
		well = add_scope(line, text);
		free(text);
	}
	sodium_memzero(bytes, len);
	free(bytes);
	return well && line->scope != NULL;
}

/* "/POINTER=VALUE". */
static bool
add_value(struct keys_line *line, const char *text)
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
set_number(const char *text, long least, long most, long *ret_number)
{
	int64_t number;
	if (!digits_read(span_str(text), most, &number) || number < least)
		return false;
	*ret_number = (long)number;
	return true;
}

/* The states of records that are listed. */
static const char *
state_at(size_t i)
{
	static const char *const states[] = {
	    "PROCESSING", "UNKNOWN", "FAILED", NULL};
	return states[i];
}

/* False where the value is none of that option's. */
static bool
set_option(struct keys_line *line, int option)
{
	switch (option) {
	case 'c':
		line->file = optarg;
		return true;
	case 'j':
		line->as_json = true;
		return true;
	case 's':
		for (char *c = optarg; *c != '\0'; c++)
			*c = (char)toupper((unsigned char)*c);
		line->state = optarg;
		return usage_is_word(optarg, state_at);
	case 'l':
		return set_number(optarg, 1, 1000000, &line->limit);
	case 'r':
		line->route = optarg;
		return true;
	case 'v':
		return add_value(line, optarg);
	case 'k':
		line->key = optarg;
		return true;
	case 'n':
		line->namespace = optarg;
		return true;
	case 'S':
		return add_scope(line, optarg);
	case 'b':
		line->with_body = true;
		return true;
	case 't':
		return set_number(optarg, 200, 599, &line->status);
	case 'H':
		return add_header(line, optarg);
	case 'f':
		line->body_file = optarg;
		return true;
	case 'A':
		return set_number(optarg, 1, 999999, &line->attempt);
	case 'F':
		line->ids_file = optarg;
		return true;
	case 'C':
		return add_scope_file(line, optarg);
	case 'y':
		line->yes = true;
		return true;
	default:
		line->note = optarg;
		return true;
	}
}

/* What an option's value looks like; NULL: the manual has no form for it. */
static const char *
form_of(int letter)
{
	static const struct {
		int letter;
		const char *form;
	} forms[] = {
	    {'A', "a whole number from 1 to 999999"},
	    {'C', "a file with lines like 'Authorization: Bearer T'"},
	    {'H', "'NAME: VALUE', like 'Content-Type: application/json'"},
	    {'S', "'NAME: VALUE', like 'Authorization: Bearer T' or "
		  "'basic.user: alice'"},
	    {'l', "a whole number from 1 to 1000000"},
	    {'t', "a status from 200 to 599"},
	    {'v', "/POINTER=VALUE, like /order_id=order-17"},
	};
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (forms[i].letter == letter)
			return forms[i].form;
	return NULL;
}

static int
wrong_value(int letter)
{
	if (letter == 's')
		return usage_unknown_word("keys", "state", optarg, state_at);
	const char *form = form_of(letter);
	return usage_wrong("keys", "--%s cannot be %s%s%s",
	    keys_line_option(letter), optarg, form != NULL ? "; it is " : "",
	    form != NULL ? form : "");
}

const char *
keys_line_option(int letter)
{
	for (const struct option *o = options; o->name != NULL; o++)
		if (o->val == letter)
			return o->name;
	return "";
}

/* --- all of them --- */

int
keys_line_read(struct keys_line *line, int argc, char **argv, int *ret_next)
{
	size_t n_given = 0;
	int o;
	opterr = 0;
	optind = 0;
	while ((o = getopt_long(argc, argv, ":c:h", options, NULL)) != -1) {
		if (o == 'h') {
			line->help = true;
			continue;
		}
		if (o == ':')
			return usage_wrong(
			    "keys", "%s needs a value", argv[optind - 1]);
		if (o == '?')
			return usage_unknown_option(
			    "keys", argv[optind - 1], options, NULL);
		if (!set_option(line, o))
			return wrong_value(o);
		if (n_given < sizeof line->given - 1 &&
		    strchr(line->given, o) == NULL)
			line->given[n_given++] = (char)o;
	}
	*ret_next = optind;
	return KEYS_WELL;
}

void
keys_line_clear(struct keys_line *line)
{
	json_decref(line->scope);
	json_decref(line->headers);
	json_decref(line->values);
	free(line->ids);
	free(line->ids_text);
	conf_unref(&line->conf);
}
