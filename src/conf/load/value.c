/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digits.h"
#include "conf/amount.h"
#include "conf/load/complaints_private.h"
#include "conf/load/text_private.h"
#include "conf/load/value_private.h"

#define DURATION                                                     \
	"must be a duration like \"250ms\", \"30s\", \"5m\", \"24h\" " \
	"or \"30d\""

/* Fills the field where the amount is in the option's range. */
static void
set_amount(struct loader *l, const struct given *given, int64_t amount,
    enum amount_kind kind)
{
	const struct option *option = given->option;
	if (amount >= option->min && amount <= option->max) {
		*(int64_t *)given_field(given) = amount;
		return;
	}
	char *min = amount_text(option->min, kind);
	char *max = amount_text(option->max, kind);
	complaints_at(l, given->at, "must be between %s and %s", min, max);
	free(min);
	free(max);
}

void
value_parse_boolean(struct loader *l, const struct given *given)
{
	if (!json_is_boolean(given->value))
		complaints_at(l, given->at, "must be true or false%s",
		    json_is_string(given->value) ? ", without quotes" : "");
	else
		*(bool *)given_field(given) = json_is_true(given->value);
}

void
value_parse_count(struct loader *l, const struct given *given)
{
	const char *text = json_string_value(given->value);
	double real = json_real_value(given->value);
	int64_t number;
	if (text != NULL && digits_read(span_str(text), INT64_MAX, &number))
		complaints_at(l, given->at,
		    "must be a whole number, without quotes");
	else if (json_is_real(given->value) && real == (double)(int64_t)real)
		complaints_at(l, given->at, "must be a whole number, without "
		    "a point or an exponent");
	else if (!json_is_integer(given->value))
		complaints_at(l, given->at, "must be a whole number");
	else
		set_amount(l, given, json_integer_value(given->value),
		    AMOUNT_COUNT);
}

/*
 * Says what it must be.  Of a number it says what that comes to, as durations
 * are: other programs count seconds, and some milliseconds.
 */
static void
complain_of_amount(
    struct loader *l, const struct given *given, enum amount_kind kind)
{
	json_int_t number = json_integer_value(given->value);
	if (kind == AMOUNT_SIZE) {
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

/* A string, or where one is, with an amount in it. */
static void
parse_amount(
    struct loader *l, const struct given *given, enum amount_kind kind)
{
	int64_t amount;
	if (!text_is_one(given->value)) {
		complain_of_amount(l, given, kind);
		return;
	}
	char *text = text_read(l, given->at, given->value);
	if (text == NULL)
		return;
	if (amount_read(text, kind, &amount))
		set_amount(l, given, amount, kind);
	else
		complain_of_amount(l, given, kind);
	text_free(&text);
}

void
value_parse_duration(struct loader *l, const struct given *given)
{
	parse_amount(l, given, AMOUNT_DURATION);
}

void
value_parse_size(struct loader *l, const struct given *given)
{
	if (json_is_integer(given->value))
		set_amount(
		    l, given, json_integer_value(given->value), AMOUNT_SIZE);
	else
		parse_amount(l, given, AMOUNT_SIZE);
}

void
value_parse_mode(struct loader *l, const struct given *given)
{
	static const char words[] = "must be octal permissions like \"0660\"";
	if (!text_is_one(given->value)) {
		complaints_at(l, given->at, "%s", words);
		return;
	}
	char *text = text_read(l, given->at, given->value);
	if (text == NULL)
		return;
	size_t len = strlen(text);
	unsigned long mode = strtoul(text, NULL, 8);
	if (strspn(text, "01234567") != len || len < 3 || len > 4 ||
	    mode == 0 || mode > 0777)
		complaints_at(l, given->at, "%s", words);
	else
		*(int64_t *)given_field(given) = (int64_t)mode;
	text_free(&text);
}
