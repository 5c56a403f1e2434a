/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digits.h"
#include "conf/amount.h"
#include "conf/load/text_private.h"
#include "conf/load/unknown_private.h"
#include "conf/words.h"

/* --- true, numbers and amounts --- */

#define DURATION                                                     \
	"must be a duration like \"250ms\", \"30s\", \"5m\", \"24h\" " \
	"or \"30d\""

void
value_parse_boolean(struct loader *l, const struct given *given)
{
	if (!json_is_boolean(given->value))
		complaints_at(l, given->at, "must be true or false%s",
		    json_is_string(given->value) ? ", without quotes" : "");
	else
		*(bool *)given->field = json_is_true(given->value);
}

/*
 * Says what it must be.  Of a number it says what that comes to, as durations
 * are: other programs count seconds, and some milliseconds.
 */
static void
complain_of_amount(
    struct loader *l, const struct given *given, enum amount_kind kind)
{
	const char *text = json_string_value(given->value);
	double real = json_real_value(given->value);
	json_int_t number = json_integer_value(given->value);
	int64_t meant;
	if (kind == AMOUNT_COUNT) {
		bool quoted = text != NULL &&
		    digits_read(span_str(text), INT64_MAX, &meant);
		bool whole = json_is_real(given->value) &&
		    real == (double)(int64_t)real;
		complaints_at(l, given->at, "must be a whole number%s",
		    quoted      ? ", without quotes"
			: whole ? ", without a point or an exponent"
				: "");
	} else if (kind == AMOUNT_SIZE) {
		complaints_at(l, given->at, "must be a size like \"64KiB\" or "
		    "\"1MiB\", or a number of bytes without quotes");
	} else if (number <= 0 || number > given->option->max) {
		complaints_at(l, given->at, DURATION);
	} else {
		complaints_at(l, given->at, DURATION "; %lld seconds are "
		    "\"%s\", and milliseconds \"%s\"", (long long)number,
		    amount_words(1000 * number, kind).text,
		    amount_words(number, kind).text);
	}
}

/*
 * A count is a number; else it is a string, or where one is, with an amount in
 * it, and a size is a number, too.
 */
void
value_parse_amount(struct loader *l, const struct given *given)
{
	const struct option *option = given->option;
	enum amount_kind kind = option->type == TYPE_COUNT ? AMOUNT_COUNT
	    : option->type == TYPE_SIZE                    ? AMOUNT_SIZE
							   : AMOUNT_DURATION;
	bool one = kind != AMOUNT_COUNT && text_is_one(given->value);
	char *text = one ? text_read(l, given->at, given->value) : NULL;
	int64_t amount = json_integer_value(given->value);
	if (one && text == NULL)
		return;
	if (one ? !amount_read(text, kind, &amount)
		: kind == AMOUNT_DURATION || !json_is_integer(given->value)) {
		complain_of_amount(l, given, kind);
	} else if (amount < option->min || amount > option->max) {
		complaints_at(l, given->at, "must be between %s and %s",
		    amount_words(option->min, kind).text,
		    amount_words(option->max, kind).text);
	} else {
		*(int64_t *)given->field = amount;
	}
}

/* Permissions in octal, three digits or four. */
void
value_parse_mode(struct loader *l, const struct given *given)
{
	bool one = text_is_one(given->value);
	char *text = one ? text_read(l, given->at, given->value) : NULL;
	size_t len = text != NULL ? strlen(text) : 0;
	unsigned long mode = text != NULL ? strtoul(text, NULL, 8) : 0;
	if (one && text == NULL)
		return;
	if (len < 3 || len > 4 || strspn(text, "01234567") != len ||
	    mode == 0 || mode > 0777)
		complaints_at(l, given->at,
		    "must be octal permissions like \"0660\"");
	else
		*(int64_t *)given->field = (int64_t)mode;
}

/* --- words --- */

/* Which of the words the value is; -1 after complaining. */
static int
read_word(struct loader *l, const struct json_place *at, const json_t *value,
    const char *words)
{
	if (!text_is_one(value)) {
		/* A number, or true: it is none of the words. */
		char *listed = words_listed(words);
		char *given = json_is_object(value) || json_is_array(value)
		    ? NULL
		    : json_dumps(value, JSON_ENCODE_ANY);
		complaints_at(l, at, "must be %s%s%s", listed,
		    given != NULL ? ", not " : "", given != NULL ? given : "");
		free(given);
		free(listed);
		return -1;
	}
	char *text = text_read(l, at, value);
	int index = text != NULL ? words_index(words, text) : -1;
	if (text != NULL && index < 0)
		unknown_word(l, at, "must be", text, words, "");
	return index;
}

/* Its number; of two words, whether it is the second; of one, true. */
void
value_parse_choice(struct loader *l, const struct given *given)
{
	int index =
	    read_word(l, given->at, given->value, given->option->words);
	enum option_type type = given->option->type;
	bool has_none = type == TYPE_PRESET || type == TYPE_CERTIFICATE_PART;
	if (index < 0)
		return;
	if (type == TYPE_TOGGLE || type == TYPE_OVERFLOW)
		*(bool *)given->field = index == 1;
	else if (type == TYPE_ONLY_WORD)
		*(bool *)given->field = true;
	else
		*(unsigned *)given->field = (unsigned)index + has_none;
}

/* A list of them, as bits. */
void
value_parse_parts(struct loader *l, const struct given *given)
{
	unsigned parts = 0;
	for (size_t i = 0; i < json_array_size(given->value); i++) {
		struct json_place at = {given->at, NULL, i};
		int index = read_word(l, &at, json_array_get(given->value, i),
		    given->option->words);
		if (index >= 0)
			parts |= 1u << index;
	}
	*(unsigned *)given->field = parts;
}

/* --- outcomes --- */

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
	for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
		if (!strcmp(hints[i].text, text))
			return hints[i].hint;
	return NULL;
}

/*
 * Lays the entries over what the table has already: a status ("503") beats its
 * class ("5xx"), and because the built-in entries, those of `defaults` and the
 * route's own come one after the other, each beats those before.
 */
void
value_parse_outcomes(struct loader *l, const struct given *given)
{
	uint8_t *outcomes = given->field;
	bool single[600] = {false}; /* which have an entry of their own */
	const char *words = given->option->words, *name;
	json_t *value;
	json_object_foreach(given->value, name, value)
	{
		struct json_place at = {given->at, name, 0};
		bool ranged =
		    *name >= '2' && *name <= '5' && strlen(name) == 3;
		bool class = ranged && !strcmp(name + 1, "xx");
		bool status = ranged && strspn(name, "0123456789") == 3;
		const char *text = json_string_value(value);
		bool other = text != NULL && words_index(words, text) < 0;
		const char *hint = other ? hint_of_outcome(text) : NULL;
		if (!class && !status) {
			complaints_at(l, &at, "must be a status from "
			    "\"200\" to \"599\" or a class from \"2xx\" to "
			    "\"5xx\"");
			continue;
		}
		if (hint != NULL) {
			char *listed = words_listed(words);
			complaints_at(l, &at, "must be %s; %s", listed, hint);
			free(listed);
			continue;
		}
		int outcome = read_word(l, &at, value, words);
		size_t n = class ? 100 : 1, first = n * strtoul(name, NULL, 10);
		for (size_t i = first; i < first + n; i++) {
			if (outcome >= 0 && (status || !single[i]))
				outcomes[i] = (uint8_t)outcome;
			single[i] |= status;
		}
	}
}

/* --- problems --- */

/* Statuses by the types of problems, each laid over what was there before. */
void
value_parse_problems(struct loader *l, const struct given *given)
{
	static const char words[] = ""
#define ROUTE_PROBLEM(name, type) " " type
#include "tbl/route_problems.h"
#undef ROUTE_PROBLEM
	    ;
	int64_t *statuses = given->field;
	const char *type;
	json_t *value;
	json_object_foreach(given->value, type, value)
	{
		struct json_place at = {given->at, type, 0};
		json_int_t status = json_integer_value(value);
		int index = words_index(words + 1, type);
		if (index < 0)
			unknown_word(l, &at, "no problem of this name can "
			    "have another status; those that can are",
			    type, words + 1, "");
		else if (!json_is_integer(value) || status < 400 ||
		    status > 599)
			complaints_at(
			    l, &at, "must be a status from 400 to 599");
		else
			statuses[index] = status;
	}
}
