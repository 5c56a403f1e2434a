/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/must.h"
#include "conf/api_preset.h"

const struct api_preset_line api_presets[API_PRESET_COUNT_] = {
    [API_PRESET_NONE] = {"", "", "{}"},
#define PRESET(name, word, field, sentence, ...)                              \
	[API_PRESET_##name] = {field, sentence, #__VA_ARGS__},
#define PRESET_SAYS(...)
#include "tbl/presets.h"
#undef PRESET
#undef PRESET_SAYS
};

static const struct said {
	enum api_preset preset;
	const char *about; /* the name of a problem, or a class: "4xx" */
	const char *members;
} said[] = {
#define PRESET(...)
#define PRESET_SAYS(name, about, ...) {API_PRESET_##name, about, #__VA_ARGS__},
#include "tbl/presets.h"
#undef PRESET
#undef PRESET_SAYS
};

static json_t *
read_json(const char *text)
{
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	must(json != NULL);
	return json;
}

json_t *
api_preset_members(enum api_preset preset)
{
	return read_json(api_presets[preset].members);
}

/* --- bodies --- */

static const struct said *
find_about(enum api_preset preset, const char *about)
{
	for (size_t i = 0; i < sizeof said / sizeof *said; i++)
		if (said[i].preset == preset && !strcmp(said[i].about, about))
			return &said[i];
	return NULL;
}

/* What stands for a string of the table; NULL: itself. */
static json_t *
filled(const char *text, const struct api_preset_facts *facts)
{
	if (!strcmp(text, "$detail"))
		return json_string(facts->detail);
	if (!strcmp(text, "$name"))
		return json_string(facts->name);
	if (!strcmp(text, "$request_id"))
		return json_string(facts->request_id);
	if (strcmp(text, "$code") != 0)
		return NULL;
	/* "outcome-unknown" as OUTCOME_UNKNOWN. */
	char *code = mem_text(facts->name);
	for (char *p = code; *p != '\0'; p++)
		*p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
	json_t *json = json_string(code);
	free(code);
	return json;
}

/* Fills in all strings of an object or list of the table. */
static void
fill(json_t *value, const struct api_preset_facts *facts)
{
	const char *name;
	json_t *member;
	size_t i;
	json_object_foreach(value, name, member)
	{
		json_t *other = json_is_string(member)
		    ? filled(json_string_value(member), facts)
		    : NULL;
		if (other != NULL)
			must(json_object_iter_set_new(value,
				 json_object_key_to_iter(name), other) == 0);
		else
			fill(member, facts);
	}
	json_array_foreach(value, i, member) fill(member, facts);
}

json_t *
api_preset_says(enum api_preset preset, const struct api_preset_facts *facts)
{
	const struct said *found = find_about(preset, facts->name);
	if (found == NULL)
		found = find_about(preset, facts->status < 500 ? "4xx" : "5xx");
	if (found == NULL)
		return NULL;
	json_t *body = read_json(found->members);
	fill(body, facts);
	return body;
}
