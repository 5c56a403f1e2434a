/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/show_private.h"
#include "conf/words.h"

json_t *
show_key_derive(
    const struct option *option, const void *base, const void *field)
{
	const struct conf_idempotency *policy = base;
	const struct json_pointers *pointers = field;
	if (policy->derive_from_body)
		return json_string("body");
	return pointers->count > 0 ? show_pointers(option, base, field)
				   : NULL;
}

json_t *
show_key_label(
    const struct option *option, const void *base, const void *field)
{
	const struct conf_idempotency *policy = base;
	return policy->label_key ? json_string("key")
				 : show_pointers(option, base, field);
}

json_t *
show_key_entity(
    const struct option *option, const void *base, const void *field)
{
	const struct conf_entity *entity = field;
	if (entity->path != NULL)
		return json_pack("{s:s}", "path", entity->path);
	return entity->pointers.count > 0
	    ? show_pointers(option, base, &entity->pointers)
	    : NULL;
}

static json_t *
show_scope(const struct conf_scope *scope)
{
	if (scope->kind == SCOPE_HEADER)
		return json_string(scope->header);
	json_t *object = json_object();
	for (size_t i = 0; i < n_options; i++)
		if (options[i].group == GROUP_SCOPE)
			show_put(object, &options[i], scope);
	return object;
}

json_t *
show_key_scopes(
    const struct option *option, const void *base, const void *field)
{
	const struct conf_scopes *scopes = field;
	json_t *list = json_array();
	(void)option;
	(void)base;
	for (size_t i = 0; i < scopes->count; i++)
		json_array_append_new(list, show_scope(&scopes->list[i]));
	return list;
}

json_t *
show_key_certificate(
    const struct option *option, const void *base, const void *field)
{
	const struct conf_scope *scope = base;
	(void)field;
	return scope->certificate == CERTIFICATE_NONE
	    ? NULL
	    : show_taken(words_at(option->words,
		  scope->certificate == CERTIFICATE_SUBJECT));
}

json_t *
show_key_preset(
    const struct option *option, const void *base, const void *field)
{
	enum api_preset preset = *(const enum api_preset *)field;
	(void)base;
	return preset == API_PRESET_NONE
	    ? NULL
	    : show_taken(words_at(option->words, preset - 1));
}

json_t *
show_key_problems(
    const struct option *option, const void *base, const void *field)
{
	static const char *const types[] = {
#define ROUTE_PROBLEM(name, type) type,
#include "tbl/route_problems.h"
#undef ROUTE_PROBLEM
	};
	const int64_t *statuses = field;
	json_t *object = json_object();
	(void)option;
	(void)base;
	for (int i = 0; i < ROUTE_PROBLEM_COUNT_; i++)
		if (statuses[i] != 0)
			json_object_set_new(
			    object, types[i], json_integer(statuses[i]));
	return object;
}

json_t *
show_key_ignored(
    const struct option *option, const void *base, const void *field)
{
	const struct conf_idempotency *policy = base;
	const struct strings *names = &policy->fingerprint_ignore_query;
	json_t *list = show_pointers(option, base, field);
	for (size_t i = 0; i < names->count; i++)
		json_array_append_new(
		    list, json_pack("{s:s}", "query", names->list[i]));
	return list;
}
