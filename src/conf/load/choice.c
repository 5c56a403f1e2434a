/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digits.h"
#include "base/mem.h"
#include "conf/load/choice_private.h"
#include "conf/load/complaints_private.h"
#include "conf/load/text_private.h"
#include "conf/load/unknown_private.h"
#include "conf/nearest.h"
#include "conf/words.h"

/* What other programs call it, which is near to no word here; or the text. */
static const char *
alias_of(const char *text)
{
	static const char *const aliases[][2] = {
	    {"audit", "observe"},
	    {"dry-run", "observe"},
	    {"dry_run", "observe"},
	    {"monitor", "observe"},
	    {"shadow", "observe"},
	};
	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
		if (!strcmp(text, aliases[i][0]))
			return aliases[i][1];
	return text;
}

/* must: "must be", or more. */
static void
complain_of_word(struct loader *l, const struct json_place *at,
    const char *must, const char *text, const char *words)
{
	struct nearest nearest = nearest_to(span_str(alias_of(text)));
	struct span list = span_str(words), one;
	char *listed = words_listed(words);
	while (span_next(&list, ' ', &one))
		nearest_try(&nearest, one);
	if (nearest.found.ptr == NULL)
		complaints_at(l, at, "%s %s", must, listed);
	else
		complaints_at(l, at, "%s %s; did you mean \"%.*s\"?", must,
		    listed, SPAN_FMT(nearest.found));
	free(listed);
}

/* A number, or true: it is none of the words, which are strings. */
static void
complain_of_kind(struct loader *l, const struct json_place *at,
    const json_t *value, const char *words)
{
	char *listed = words_listed(words);
	char *given = json_is_object(value) || json_is_array(value)
	    ? NULL
	    : json_dumps(value, JSON_ENCODE_ANY);
	complaints_at(l, at, "must be %s%s%s", listed,
	    given != NULL ? ", not " : "", given != NULL ? given : "");
	free(given);
	free(listed);
}

int
choice_read(struct loader *l, const struct json_place *at, const json_t *value,
    const char *words)
{
	if (!text_is_one(value)) {
		complain_of_kind(l, at, value, words);
		return -1;
	}
	char *text = text_read(l, at, value);
	if (text == NULL)
		return -1;
	int index = words_index(words, text);
	if (index < 0)
		complain_of_word(l, at, "must be", text, words);
	text_free(&text);
	return index;
}

/* --- types of conf/types.h --- */

void
choice_parse(struct loader *l, const struct given *given)
{
	int index =
	    choice_read(l, given->at, given->value, given->option->words);
	enum option_type type = given->option->type;
	bool has_none = type == TYPE_PRESET || type == TYPE_CERTIFICATE_PART;
	if (index < 0)
		return;
	if (type == TYPE_TOGGLE || type == TYPE_OVERFLOW)
		*(bool *)given_field(given) = index == 1;
	else if (type == TYPE_ONLY_WORD)
		*(bool *)given_field(given) = true;
	else
		*(unsigned *)given_field(given) = (unsigned)index + has_none;
}

/* --- fingerprint.include --- */

void
choice_parse_parts(struct loader *l, const struct given *given)
{
	unsigned parts = 0;
	if (!json_is_array(given->value)) {
		complaints_at(l, given->at, "must be a list like [\"method\", "
		    "\"body\"]");
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

/* What another option says, or an outcome by another name; NULL: neither. */
static const char *
hint_of_outcome(const char *text)
{
	static const struct {
		const char *text;
		const char *hint;
	} hints[] = {
#define MAYBE "\"unknown\", and what a retry does then is \"on_unknown\""
#define RETRY "a retry is executed again after \"release\" (nothing "         \
	      "happened); where something may have happened, say " MAYBE
#define STUCK "after such a status, say " MAYBE
	    {"retry", RETRY}, {"retryable", RETRY}, {"again", RETRY},
	    {"try-again", RETRY}, {"hold", STUCK}, {"reconcile", STUCK},
#undef STUCK
#undef RETRY
#undef MAYBE
	};
	for (size_t i = 0; i < sizeof hints / sizeof *hints && text; i++)
		if (!strcmp(hints[i].text, text))
			return hints[i].hint;
	return NULL;
}

/* One of the words, or -1: it is none, and that was said. */
static int
read_outcome(struct loader *l, const struct json_place *at,
    const json_t *value, const char *words)
{
	const char *hint = hint_of_outcome(json_string_value(value));
	if (hint == NULL)
		return choice_read(l, at, value, words);
	char *listed = words_listed(words);
	complaints_at(l, at, "must be %s; %s", listed, hint);
	free(listed);
	return -1;
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
			complaints_at(l, &at, "must be a status from "
			    "\"200\" to \"599\" or a class from \"2xx\" to "
			    "\"5xx\"");
			continue;
		}
		int outcome =
		    read_outcome(l, &at, value, given->option->words);
		if (outcome >= 0)
			memset(outcomes + first, outcome, wanted);
	}
}

void
choice_parse_outcomes(struct loader *l, const struct given *given)
{
	if (!json_is_object(given->value)) {
		complaints_at(l, given->at, "must be an object");
		return;
	}
	read_outcomes(l, given, 0);
	read_outcomes(l, given, 100);
	read_outcomes(l, given, 1);
}

/* --- problems --- */

void
choice_parse_problems(struct loader *l, const struct given *given)
{
	static const char words[] = ""
#define ROUTE_PROBLEM(name, type) " " type
#include "tbl/route_problems.h"
#undef ROUTE_PROBLEM
	    ;
	int64_t *statuses = given_field(given);
	const char *type;
	json_t *value;
	if (!json_is_object(given->value)) {
		complaints_at(l, given->at, "must be an object");
		return;
	}
	json_object_foreach(given->value, type, value)
	{
		struct json_place at = {given->at, type, 0};
		json_int_t status = json_integer_value(value);
		int index = words_index(words + 1, type);
		if (index < 0)
			complain_of_word(l, &at, "no problem of this name can "
			    "have another status; those that can are",
			    type, words + 1);
		else if (!json_is_integer(value) || status < 400 ||
		    status > 599)
			complaints_at(
			    l, &at, "must be a status from 400 to 599");
		else
			statuses[index] = status;
	}
}
