/* SPDX-License-Identifier: BSD-2-Clause */
#include "operators/commands/messages_sources.h"
#include "operators/commands/values.h"

/* Who has paused it stands before its error, which may last longer. */
static void
say_paused(json_t *source)
{
	const json_t *paused = json_object_get(source, "paused");
	const char *who = json_string_value(json_object_get(paused, "who"));
	const char *note = json_string_value(json_object_get(paused, "note"));
	const char *error =
	    json_string_value(json_object_get(source, "error"));
	if (who == NULL)
		return;
	bool noted = note != NULL && note[0] != '\0';
	json_object_set_new(source, "error",
	    json_sprintf("paused by %s%s%s%s%s", who, noted ? ": " : "",
		noted ? note : "", error != NULL ? "; " : "",
		error != NULL ? error : ""));
}

/* As far as they are counted. */
static void
say_dead(json_t *source)
{
	if (!json_is_true(json_object_get(source, "dead_more")))
		return;
	json_object_set_new(source, "dead",
	    json_sprintf("%lld+",
		(long long)json_integer_value(
		    json_object_get(source, "dead"))));
}

void
messages_sources_print(const json_t *list)
{
	static const struct values_column columns[] = {
	    {"SOURCE", "name", false}, {"KIND", "kind", false},
	    {"BROKER", "broker", false}, {"STANDS", "standing", false},
	    {"LAG", "lag", false}, {"IN FLIGHT", "in_flight", false},
	    {"HELD", "held", false}, {"RETRYING", "retrying", false},
	    {"WAITING", "waiting", false}, {"ORDERS PARKED", "parked", false},
	    {"DEAD", "dead", false}, {"ERROR", "error", false}};
	json_t *source;
	size_t i;
	json_array_foreach(list, i, source) {
		say_paused(source);
		say_dead(source);
	}
	values_table(list, columns, sizeof columns / sizeof *columns);
}
