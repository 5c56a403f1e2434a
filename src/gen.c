/* SPDX-License-Identifier: BSD-2-Clause */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "conf/option.h"
#include "man/manual.h"

/*
 * Prints what follows from the tables of tbl/, so that each fact is written
 * once: `gen schema` prints the JSON Schema of the configuration, the others
 * print parts of the manual pages (man/manual.h).  It is part of the build, not
 * of the program.
 */

/* --- the schema of the configuration (JSON Schema, draft 2020-12) --- */

#define JSON(...) #__VA_ARGS__

/* What the schemas of conf/types.h refer to, apart from the groups. */
static const char definitions[] = JSON({
	"elsewhere": {
		"description": "A value from the environment or from a file.",
		"type": "object",
		"additionalProperties": false,
		"minProperties": 1,
		"maxProperties": 1,
		"properties": {
			"env": {"type": "string"},
			"file": {"type": "string"}}},
	"string": {"anyOf": [
		{"type": "string"}, {"$ref": "#/$defs/elsewhere"}]},
	"strings": {"type": "array", "items": {"$ref": "#/$defs/string"}},
	"some_strings": {"$ref": "#/$defs/strings", "minItems": 1},
	"name": {"anyOf": [
		{"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"},
		{"$ref": "#/$defs/elsewhere"}]},
	"field": {"anyOf": [
		{"type": "string", "pattern": "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"},
		{"$ref": "#/$defs/elsewhere"}]},
	"fields": {"type": "array", "items": {"$ref": "#/$defs/field"}},
	"method": {"anyOf": [
		{"type": "string", "pattern":
			"^(?!(CONNECT|TRACE)$)[!#$%&'*+.^_`|~0-9A-Z-]+$"},
		{"$ref": "#/$defs/elsewhere"}]},
	"pointer": {"anyOf": [
		{"type": "string", "pattern": "^/([^~]|~[01])*$"},
		{"$ref": "#/$defs/elsewhere"}]},
	"pointers": {"type": "array", "items": {"$ref": "#/$defs/pointer"}},
	"some_pointers": {"$ref": "#/$defs/pointers", "minItems": 1},
	"path": {"anyOf": [
		{"type": "string", "pattern":
			"^/(([^/%?#*]+/)*([^/%?#*]+|\\*))?$"},
		{"$ref": "#/$defs/elsewhere"}]},
	"address": {"anyOf": [
		{"type": "string", "pattern":
			"^(unix:/.+|([^*/:[]*|\\[[^]]+\\]):[0-9]{1,5})$"},
		{"$ref": "#/$defs/elsewhere"}]},
	"url": {"anyOf": [
		{"type": "string", "pattern":
		"^(unix:/.+|[Hh][Tt][Tt][Pp][Ss]?://[^/?#@]+(/[^?#]*)?)$"},
		{"$ref": "#/$defs/elsewhere"}]},
	"redis": {"anyOf": [
		{"type": "string", "pattern":
		"^(unix:/.+|[Rr][Ee][Dd][Ii][Ss]{1,2}://[^/?#]+(/[0-9]*)?)$"},
		{"$ref": "#/$defs/elsewhere"}]},
	"header_of": {
		"type": "object",
		"additionalProperties": false,
		"required": ["header"],
		"properties": {"header": {"$ref": "#/$defs/string"}}},
	"duration": {"anyOf": [
		{"type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$"},
		{"$ref": "#/$defs/elsewhere"}]},
	"size": {"anyOf": [
		{"type": "integer", "minimum": 0},
		{"type": "string", "pattern": "^[0-9]+[KMGT]iB$"},
		{"$ref": "#/$defs/elsewhere"}]}
});

static json_t *
read_json(const char *text)
{
	json_error_t error;
	json_t *json = json_loads(
	    text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
	if (json == NULL)
		fprintf(stderr, "gen: %s in: %s\n", error.text, text);
	must(json != NULL);
	return json;
}

static void
set_member(json_t *object, const char *name, json_t *value)
{
	must(json_object_set_new(object, name, value) == 0);
}

static json_t *
word_list(const char *words)
{
	json_t *list = json_array();
	struct span rest = span_str(words);
	struct span word;
	while (span_next(&rest, ' ', &word))
		must(json_array_append_new(
			 list, json_stringn(word.ptr, word.len)) == 0);
	return list;
}

/* Restricts the first string of a schema to these words; false: it has none. */
static bool
restrict_to_words(json_t *schema, const char *words)
{
	const char *name;
	json_t *value;
	size_t i;
	const char *ref = json_string_value(json_object_get(schema, "$ref"));
	if (ref != NULL && !strcmp(ref, "#/$defs/string")) {
		json_t *choices = json_array();
		must(json_object_clear(schema) == 0);
		must(json_array_append_new(choices,
			 json_pack("{s:o}", "enum", word_list(words))) == 0);
		must(json_array_append_new(
			 choices, read_json(JSON(
				      {"$ref": "#/$defs/elsewhere"}))) == 0);
		set_member(schema, "anyOf", choices);
		return true;
	}
	json_object_foreach(schema, name, value)
		if (restrict_to_words(value, words))
			return true;
	json_array_foreach(schema, i, value)
		if (restrict_to_words(value, words))
			return true;
	return false;
}

static json_t *
property_schema(const struct option *option)
{
	/* What may have another status. */
	static const char problems[] = ""
#define ROUTE_PROBLEM(name, type) type " "
#include "tbl/route_problems.h"
#undef ROUTE_PROBLEM
	    ;
	json_t *schema = read_json(option_schemas[option->type]);
	const char *preset = option_preset(option);
	if (option->words != NULL)
		must(restrict_to_words(schema, option->words));
	if (option->type == TYPE_PROBLEMS)
		set_member(schema, "propertyNames",
		    json_pack("{s:o}", "enum", word_list(problems)));
	if (option->type == TYPE_COUNT) {
		set_member(schema, "minimum", json_integer(option->min));
		set_member(schema, "maximum", json_integer(option->max));
	}
	set_member(schema, "description", json_string(option->sentence));
	if (preset != NULL)
		set_member(schema, "default", read_json(preset));
	return schema;
}

static json_t *
object_schema(void)
{
	return read_json(JSON({
		"type": "object",
		"additionalProperties": false,
		"properties": {}}));
}

/* The schema of the object of that name within schema; made if missing. */
static json_t *
section_schema(json_t *schema, const char *name)
{
	json_t *properties = json_object_get(schema, "properties");
	if (json_object_get(properties, name) == NULL)
		set_member(properties, name, object_schema());
	return json_object_get(properties, name);
}

static void
add_option(json_t *schema, const struct option *option)
{
	char *path = mem_str(span_str(option->path));
	char *name = path;
	for (char *dot; (dot = strchr(name, '.')) != NULL; name = dot + 1) {
		*dot = '\0';
		schema = section_schema(schema, name);
	}
	set_member(json_object_get(schema, "properties"), name,
	    property_schema(option));
	if (option_required(option)) {
		if (json_object_get(schema, "required") == NULL)
			set_member(schema, "required", json_array());
		must(json_array_append_new(json_object_get(schema, "required"),
			 json_string(name)) == 0);
	}
	free(path);
}

/* Which members of an object need, or exclude, others. */
static const struct {
	enum group group;
	const char *object; /* of the group; "" is the group's own */
	const char *rules;
} rules[] = {
    {GROUP_SCOPE, "", JSON({
	"oneOf": [
		{"required": ["basic"]}, {"required": ["path"]},
		{"required": ["certificate"]}, {"required": ["jwt"]}],
	"dependentRequired": {
		"jwt": ["keys"], "keys": ["jwt"], "ca": ["jwt"],
		"issuer": ["jwt"], "audience": ["jwt"]}})},
    {GROUP_RECONCILE, "", JSON({
	"dependentRequired": {"headers": ["absent"]}})},
    {GROUP_ROOT, "store", JSON({
	"not": {"anyOf": [
		{"required": ["redis", "cluster"]},
		{"required": ["redis", "sentinels"]},
		{"required": ["cluster", "sentinels"]}]},
	"dependentRequired": {
		"sentinels": ["master"], "master": ["sentinels"],
		"user": ["password"]}})},
};

static void
add_rules(json_t *schema, enum group group)
{
	for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
		if (rules[i].group != group)
			continue;
		json_t *object = *rules[i].object == '\0'
		    ? schema
		    : section_schema(schema, rules[i].object);
		json_t *members = read_json(rules[i].rules);
		must(json_object_update(object, members) == 0);
		json_decref(members);
	}
}

static json_t *
group_schema(enum group group)
{
	json_t *schema = object_schema();
	for (size_t i = 0; i < n_options; i++)
		if (options[i].group == group)
			add_option(schema, &options[i]);
	add_rules(schema, group);
	return schema;
}

static int
print_schema(void)
{
	static const char *const names[GROUP_COUNT_] = {
	    [GROUP_LISTEN] = "listen",
	    [GROUP_ADMIN_TOKEN] = "admin_token",
	    [GROUP_ENCRYPTION_KEY] = "encryption_key",
	    [GROUP_UPSTREAM] = "upstream",
	    [GROUP_ROUTE] = "route",
	    [GROUP_IDEMPOTENCY] = "idempotency",
	    [GROUP_SCOPE] = "scope",
	    [GROUP_RECONCILE] = "reconcile",
	    [GROUP_WITNESS] = "witness",
	    [GROUP_BROKER] = "broker",
	    [GROUP_SOURCE] = "source",
	    [GROUP_RELAY] = "relay",
	};
	json_t *schema = read_json(JSON({
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title": "The configuration of onceproxy"}));
	json_t *whole = group_schema(GROUP_ROOT);
	set_member(json_object_get(whole, "properties"), "$schema",
	    read_json(JSON({"type": "string",
		"description": "Where this schema is, for editors."})));
	json_t *defs = read_json(definitions);
	for (enum group group = GROUP_LISTEN; group < GROUP_COUNT_; group++)
		set_member(defs, names[group], group_schema(group));
	must(json_object_update(schema, whole) == 0);
	set_member(schema, "$defs", defs);
	int failed = json_dumpf(schema, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(whole);
	json_decref(schema);
	return failed ? 1 : 0;
}

/* --- what can be printed --- */

int
main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "schema"))
		return print_schema();
	if (argc > 1 && manual_print(argv + 1))
		return 0;
	fputs("usage: gen NAME [WORD...], of what this can print\n", stderr);
	return 2;
}
