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

static void
complain_of_word(struct loader *l, const struct json_place *at,
    const char *text, const char *words)
{
	struct nearest nearest = nearest_to(span_str(alias_of(text)));
	struct span list = span_str(words), one;
	char *listed = words_listed(words);
	while (span_next(&list, ' ', &one))
		nearest_try(&nearest, one);
	if (nearest.found.ptr == NULL)
		complaints_at(l, at, "must be %s", listed);
	else
		complaints_at(l, at, "must be %s; did you mean \"%.*s\"?",
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
		complain_of_word(l, at, text, words);
	text_free(&text);
	return index;
}

/* --- on_unknown --- */

static const char reconcile[] = "reconcile";
static const char example[] =
    "{\"reconcile\": {\"path\": \"/v1/charges/by-key/{key}\", "
    "\"absent\": [404, 410]}}";

static void
complain_of_on_unknown(
    struct loader *l, const struct given *given, const char *text)
{
	struct nearest nearest = nearest_to(span_str(text));
	struct span list = span_str(given->option->words), word;
	nearest_try(&nearest, span_str(reconcile));
	while (span_next(&list, ' ', &word))
		nearest_try(&nearest, word);
	if (span_eq(nearest.found, span_str(reconcile)))
		complaints_at(l, given->at,
		    "\"reconcile\" is an object with the path that says what "
		    "became of a key: %s", example);
	else if (nearest.found.ptr != NULL)
		complaints_at(l, given->at,
		    "must be \"hold\", \"retry\" or an object: %s; did you "
		    "mean \"%.*s\"?", example, SPAN_FMT(nearest.found));
	else
		complaints_at(l, given->at,
		    "must be \"hold\", \"retry\" or an object: %s", example);
}

int
choice_read_on_unknown(struct loader *l, const struct given *given)
{
	const char *text = json_string_value(given->value);
	if (text != NULL && words_index(given->option->words, text) >= 0)
		return choice_read(
		    l, given->at, given->value, given->option->words);
	if (text != NULL)
		complain_of_on_unknown(l, given, text);
	else
		complaints_at(l, given->at,
		    "must be \"hold\", \"retry\" or an object: %s", example);
	return -1;
}

/* Complains of one that is there and is not "reconcile". */
static void
complain_beside_reconcile(struct loader *l, const struct json_place *at)
{
	if (option_find(GROUP_RECONCILE, SPAN(""), at->member) != NULL)
		complaints_at_name(l, at, "there is no such member here; it "
		    "belongs in \"%s\", as in %s", reconcile, example);
	else
		unknown_beside(l, at, reconcile);
}

/* Whether one of them is meant to be "reconcile". */
static bool
has_near_reconcile(json_t *object)
{
	const char *name;
	json_t *value;
	bool near = false;
	json_object_foreach(object, name, value)
	{
		struct nearest nearest = nearest_to(span_str(name));
		nearest_try(&nearest, span_str(reconcile));
		near |= nearest.found.ptr != NULL;
	}
	return near;
}

json_t *
choice_read_reconcile(struct loader *l, const struct given *given)
{
	const char *name;
	json_t *value;
	json_t *found = json_object_get(given->value, reconcile);
	if (found == NULL && !has_near_reconcile(given->value)) {
		complaints_at(l, given->at,
		    "must be \"hold\", \"retry\" or an object: %s", example);
		return NULL;
	}
	json_object_foreach(given->value, name, value)
	{
		struct json_place at = {given->at, name, 0};
		if (strcmp(name, reconcile) != 0)
			complain_beside_reconcile(l, &at);
	}
	return found;
}

/* --- types of conf/types.h --- */

void
choice_parse(struct loader *l, const struct given *given)
{
	int index =
	    choice_read(l, given->at, given->value, given->option->words);
	if (index >= 0)
		*(unsigned *)given_field(given) = (unsigned)index;
}

void
choice_parse_toggle(struct loader *l, const struct given *given)
{
	int index =
	    choice_read(l, given->at, given->value, given->option->words);
	if (index >= 0)
		*(bool *)given_field(given) = index == 1;
}

void
choice_parse_only(struct loader *l, const struct given *given)
{
	if (choice_read(l, given->at, given->value, given->option->words) == 0)
		*(bool *)given_field(given) = true;
}

void
choice_parse_preset(struct loader *l, const struct given *given)
{
	int index =
	    choice_read(l, given->at, given->value, given->option->words);
	if (index >= 0)
		*(enum api_preset *)given_field(given) =
		    (enum api_preset)(API_PRESET_NONE + 1 + index);
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

static const char *const problem_types[] = {
#define ROUTE_PROBLEM(name, type) type,
#include "tbl/route_problems.h"
#undef ROUTE_PROBLEM
};

static int
problem_index(const char *type)
{
	for (int i = 0; i < ROUTE_PROBLEM_COUNT_; i++)
		if (!strcmp(problem_types[i], type))
			return i;
	return -1;
}

/* `"in-flight", "outcome-unknown" ...`; the caller frees it. */
static char *
problems_listed(void)
{
	char *listed = mem_str(SPAN(""));
	for (int i = 0; i < ROUTE_PROBLEM_COUNT_; i++) {
		const char *between = i == 0 ? ""
		    : i + 1 < ROUTE_PROBLEM_COUNT_ ? ", "
						   : " and ";
		char *longer = mem_printf(
		    "%s%s\"%s\"", listed, between, problem_types[i]);
		free(listed);
		listed = longer;
	}
	return listed;
}

static void
complain_of_problem(
    struct loader *l, const struct json_place *at, const char *type)
{
	static const char words[] =
	    "no problem of this name can have another status";
	struct nearest nearest = nearest_to(span_str(type));
	for (int i = 0; i < ROUTE_PROBLEM_COUNT_; i++)
		nearest_try(&nearest, span_str(problem_types[i]));
	if (nearest.found.ptr != NULL) {
		complaints_at(l, at, "%s; did you mean \"%.*s\"?", words,
		    SPAN_FMT(nearest.found));
		return;
	}
	char *listed = problems_listed();
	complaints_at(l, at, "%s; those that can are %s", words, listed);
	free(listed);
}

void
choice_parse_problems(struct loader *l, const struct given *given)
{
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
		int index = problem_index(type);
		if (index < 0)
			complain_of_problem(l, &at, type);
		else if (!json_is_integer(value) || status < 400 ||
		    status > 599)
			complaints_at(
			    l, &at, "must be a status from 400 to 599");
		else
			statuses[index] = status;
	}
}
