/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/digits.h"
#include "load/choice_private.h"
#include "load/complaints_at_private.h"
#include "load/policy_private.h"

/* --- fingerprint.include --- */

void
policy_parse_parts(struct loader *l, const struct given *given)
{
	unsigned parts = 0;
	if (!json_is_array(given->value)) {
		complaints_at(l, given->at, "must be a list of strings");
		return;
	}
	for (size_t i = 0; i < json_array_size(given->value); i++) {
		struct json_place at = {given->at, NULL, i};
		int index = choice_read(l, &at, json_array_get(given->value, i),
		    given->option->words);
		if (index >= 0)
			parts |= 1u << index;
	}
	*(unsigned *)given_field(given) = parts;
}

/* --- outcomes --- */

/* The statuses that "503" or "5xx" stands for; none: it is neither. */
static unsigned
statuses_of(const char *name, unsigned *ret_first)
{
	struct span text = span_str(name);
	int64_t number;
	bool class = text.len == 3 && !strcmp(name + 1, "xx");
	if (text.len != 3 || name[0] < '2' || name[0] > '5' ||
	    !digits_read(span_of(name, class ? 1 : 3), 599, &number))
		return 0;
	*ret_first = (unsigned)(class ? 100 * number : number);
	return class ? 100 : 1;
}

/* Reads the entries that stand for so many statuses. */
static void
read_outcomes(struct loader *l, const struct given *given, unsigned wanted)
{
	uint8_t *outcomes = given_field(given);
	const char *name;
	json_t *value;
	json_object_foreach(given->value, name, value)
	{
		struct json_place at = {given->at, name, 0};
		unsigned first = 0;
		if (statuses_of(name, &first) != wanted)
			continue;
		if (wanted == 0) {
			complaints_at(l, &at,
			    "must be a status from \"200\" to \"599\" or a "
			    "class from \"2xx\" to \"5xx\"");
			continue;
		}
		int outcome = choice_read(l, &at, value, given->option->words);
		if (outcome >= 0)
			memset(outcomes + first, outcome, wanted);
	}
}

void
policy_parse_outcomes(struct loader *l, const struct given *given)
{
	if (!json_is_object(given->value)) {
		complaints_at(l, given->at, "must be an object");
		return;
	}
	read_outcomes(l, given, 0);
	read_outcomes(l, given, 100);
	read_outcomes(l, given, 1);
}
