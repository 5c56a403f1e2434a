/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf_try.h"

#include <jansson.h>

#include "conf/option.h"

/*
 * The committed schema and the loader know the same members: the schema's
 * objects are compared with the table of options, and the loader is given each
 * member, with a value that no option accepts.
 */

static const struct {
	const char *definition; /* in the schema; NULL: the schema itself */
	const char *pointer;    /* of the group's object in the file */
	const char *file;       /* around a member of that object */
} groups[GROUP_COUNT_] = {
    [GROUP_ROOT] = {NULL, "", "{%s}"},
    [GROUP_LISTEN] = {"listen", "/listen/0",
	"{'listen':[{%s}],'upstreams':{},'routes':[]}"},
    [GROUP_ENCRYPTION_KEY] = {"encryption_key", "/store/encryption_keys/0",
	TRY_STORE("'encryption_keys':[{%s}]")},
    [GROUP_UPSTREAM] = {"upstream", "/upstreams/u", TRY_UPSTREAM("{%s}")},
    [GROUP_ROUTE] = {"route", "/routes/0",
	"{" TRY_LISTEN "," TRY_UPSTREAMS ",'routes':[{%s}]}"},
    [GROUP_RECONCILE] = {"reconcile",
	"/routes/0/idempotency/on_unknown/reconcile",
	TRY_POLICY("'on_unknown':{'reconcile':{%s}}")},
    [GROUP_IDEMPOTENCY] = {"idempotency", "/routes/0/idempotency",
	TRY_POLICY("%s")},
    [GROUP_SCOPE] = {"scope", "/routes/0/idempotency/scope/0",
	TRY_POLICY("'scope':[{%s}]")},
    [GROUP_BROKER] = {"broker", "/brokers/b",
	TRY_FILE("'brokers':{'b':{%s}}")},
    [GROUP_SOURCE] = {"source", "/sources/s",
	TRY_FILE("'brokers':{'b':{'redis':'redis://h'}},"
		 "'sources':{'s':{%s}}")},
    [GROUP_RELAY] = {"relay", "/relays/r",
	TRY_FILE("'brokers':{'b':{'redis':'redis://h'}},"
		 "'relays':{'r':{%s}}")},
};

static int
read_schema(void **state)
{
	json_error_t error;
	const char *srcdir = getenv("srcdir");
	char *name = mem_printf(
	    "%s/etc/onceproxy.schema.json", srcdir ? srcdir : ".");
	*state = json_load_file(name, JSON_REJECT_DUPLICATES, &error);
	free(name);
	assert_non_null(*state);
	return 0;
}

static int
drop_schema(void **state)
{
	json_decref(*state);
	return 0;
}

static json_t *
group_schema(json_t *schema, enum group group)
{
	const char *definition = groups[group].definition;
	if (definition == NULL)
		return schema;
	return json_object_get(
	    json_object_get(schema, "$defs"), definition);
}

/* Calls member() with the dotted path of each member of an object. */
static void
walk_members(json_t *object, const char *prefix, enum group group,
    void (*member)(enum group group, const char *path))
{
	const char *name;
	json_t *schema;
	json_t *properties = json_object_get(object, "properties");
	assert_non_null(properties);
	assert_true(
	    json_is_false(json_object_get(object, "additionalProperties")));
	json_object_foreach(properties, name, schema) {
		if (!strcmp(name, "$schema"))
			continue; /* which is for editors alone */
		char *path = mem_printf("%s%s", prefix, name);
		char *below = mem_printf("%s.", path);
		if (json_object_get(schema, "properties") != NULL)
			walk_members(schema, below, group, member);
		else
			member(group, path);
		free(below);
		free(path);
	}
}

/* The file with that member of the group, {"a":{"b":VALUE}} for "a.b". */
static char *
file_with(enum group group, const char *path, const char *value)
{
	char *member = mem_printf("%s", value);
	struct span rest = span_str(path);
	while (rest.len > 0) {
		size_t at = rest.len;
		while (at > 0 && rest.ptr[at - 1] != '.')
			at--;
		char *outer = mem_printf("%s'%.*s':%s%s",
		    at > 0 ? "{" : "", (int)(rest.len - at), rest.ptr + at,
		    member, at > 0 ? "}" : "");
		free(member);
		member = outer;
		rest.len = at > 0 ? at - 1 : 0;
	}
	const char *hole = strstr(groups[group].file, "%s");
	char *file = mem_printf("%.*s%s%s",
	    (int)(hole - groups[group].file), groups[group].file, member,
	    hole + 2);
	free(member);
	return file;
}

/* Counts the complaints about this member of the group. */
static char *
complaints_about(enum group group, const char *path, const char *value)
{
	char *file = file_with(group, path, value);
	char *lines = try_wrong(file);
	char *about = mem_printf("%s/%s: ", groups[group].pointer, path);
	for (char *p = about + strlen(groups[group].pointer); *p; p++)
		if (*p == '.')
			*p = '/';
	char *line = strstr(lines, about);
	char *found = line ? mem_str(span_of(line, strcspn(line, "\n"))) :
			     mem_str(SPAN(""));
	free(about);
	free(lines);
	free(file);
	return found;
}

static void
assert_known(enum group group, const char *path)
{
	const struct option *option = NULL;
	for (size_t i = 0; i < n_options; i++)
		if (options[i].group == group &&
		    !strcmp(options[i].path, path))
			option = &options[i];
	if (option == NULL)
		print_error("%s is not in the table\n", path);
	assert_non_null(option);

	bool may_be_null = option->type == TYPE_OPTIONAL_COLUMN;
	char *found = complaints_about(group, path, may_be_null ? "1" : "null");
	if (!strstr(found, "must be"))
		print_error("%s: the loader says: %s\n", path, found);
	assert_non_null(strstr(found, "must be"));
	free(found);
}

static void
the_loader_knows_each_member_of_the_schema(void **state)
{
	for (int group = 0; group < GROUP_COUNT_; group++)
		walk_members(group_schema(*state, group), "", group,
		    assert_known);
	char *found = complaints_about(GROUP_ROUTE, "nonsense", "null");
	assert_non_null(strstr(found, "there is no such member"));
	free(found);
}

static void
the_schema_has_each_option_with_its_default(void **state)
{
	for (size_t i = 0; i < n_options; i++) {
		const struct option *option = &options[i];
		json_t *schema = group_schema(*state, option->group);
		struct span rest = span_str(option->path);
		struct span name;
		json_t *object = NULL;
		while (span_next(&rest, '.', &name)) {
			char *member = mem_str(name);
			object = schema;
			schema = json_object_get(
			    json_object_get(schema, "properties"), member);
			free(member);
		}
		if (schema == NULL)
			print_error("no %s in the schema\n", option->path);
		assert_non_null(schema);
		const char *text = option_preset(option);
		json_t *preset =
		    text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
		json_t *shown = json_object_get(schema, "default");
		assert_int_equal(preset != NULL, shown != NULL);
		assert_true(preset == NULL || json_equal(preset, shown));
		json_decref(preset);

		bool required = false;
		size_t at;
		json_t *one;
		json_array_foreach(json_object_get(object, "required"), at, one)
			required |= !strcmp(json_string_value(one),
			    strrchr(option->path, '.')
				? strrchr(option->path, '.') + 1
				: option->path);
		assert_int_equal(required, option_required(option));
	}
}

static void
each_choice_of_the_schema_is_taken(void **state)
{
	size_t choices = 0;
	(void)state;
	for (size_t i = 0; i < n_options; i++) {
		const struct option *option = &options[i];
		struct span rest = span_str(option->words);
		struct span word;
		if (option->type != TYPE_CHOICE && option->type != TYPE_TOGGLE)
			continue;
		while (span_next(&rest, ' ', &word)) {
			char *value =
			    mem_printf("'%.*s'", SPAN_FMT(word));
			char *found = complaints_about(
			    option->group, option->path, value);
			/* Some are for routes with keys. */
			if (strstr(found, "\"idempotency\"") == NULL)
				assert_string_equal(found, "");
			free(found);
			free(value);
			choices++;
		}
	}
	assert_true(choices > 10);
}

static void
the_sample_is_valid_and_served(void **state)
{
	(void)state;
	struct complaints complaints = {NULL, 0};
	const char *srcdir = getenv("srcdir");
	char *name =
	    mem_printf("%s/etc/onceproxy.json", srcdir ? srcdir : ".");
	const struct conf *conf = conf_load(name, &complaints);
	assert_non_null(conf);
	assert_int_equal(complaints.count, 0);
	assert_true(conf->store.redis.managed);
	conf_unref(&conf);
	free(name);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_loader_knows_each_member_of_the_schema),
	    cmocka_unit_test(the_schema_has_each_option_with_its_default),
	    cmocka_unit_test(each_choice_of_the_schema_is_taken),
	    cmocka_unit_test(the_sample_is_valid_and_served),
	};
	return cmocka_run_group_tests_name(
	    "conf_schema", tests, read_schema, drop_schema);
}
