/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digits.h"
#include "base/mem.h"
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
		*(bool *)given_field(given) = json_is_true(given->value);
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
		char *ms = amount_text(number, AMOUNT_DURATION);
		char *s = amount_text(1000 * number, AMOUNT_DURATION);
		complaints_at(l, given->at, DURATION "; %lld seconds are "
		    "\"%s\", and milliseconds \"%s\"", (long long)number, s,
		    ms);
		free(ms);
		free(s);
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
		char *min = amount_text(option->min, kind);
		char *max = amount_text(option->max, kind);
		complaints_at(
		    l, given->at, "must be between %s and %s", min, max);
		free(min);
		free(max);
	} else {
		*(int64_t *)given_field(given) = amount;
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
		*(int64_t *)given_field(given) = (int64_t)mode;
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
		*(bool *)given_field(given) = index == 1;
	else if (type == TYPE_ONLY_WORD)
		*(bool *)given_field(given) = true;
	else
		*(unsigned *)given_field(given) = (unsigned)index + has_none;
}

/* A list of them, as bits. */
void
value_parse_parts(struct loader *l, const struct given *given)
{
	unsigned parts = 0;
	if (!json_is_array(given->value)) {
		complaints_at(l, given->at, "must be a list like [\"method\", "
		    "\"body\"]");
		return;
	}
	for (size_t i = 0; i < json_array_size(given->value); i++) {
		struct json_place at = {given->at, NULL, i};
		int index = read_word(l, &at, json_array_get(given->value, i),
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

/* Reads the entries that stand for so many statuses. */
static void
read_outcomes(struct loader *l, const struct given *given, unsigned wanted)
{
	uint8_t *outcomes = given_field(given);
	const char *words = given->option->words, *name;
	json_t *value;
	json_object_foreach(given->value, name, value)
	{
		struct json_place at = {given->at, name, 0};
		const char *hint = hint_of_outcome(json_string_value(value));
		unsigned first = 0;
		if (statuses_of(name, &first) != wanted)
			continue;
		if (wanted == 0) {
			complaints_at(l, &at, "must be a status from "
			    "\"200\" to \"599\" or a class from \"2xx\" to "
			    "\"5xx\"");
		} else if (hint != NULL) {
			char *listed = words_listed(words);
			complaints_at(l, &at, "must be %s; %s", listed, hint);
			free(listed);
		} else {
			int outcome = read_word(l, &at, value, words);
			if (outcome >= 0)
				memset(outcomes + first, outcome, wanted);
		}
	}
}

/*
 * Lays the entries over what the table has already: a status beats its class,
 * and because the built-in entries, those of `defaults` and the route's own
 * come one after the other, each beats those before.
 */
void
value_parse_outcomes(struct loader *l, const struct given *given)
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

/* Statuses by the types of problems, each laid over what was there before. */
void
value_parse_problems(struct loader *l, const struct given *given)
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
