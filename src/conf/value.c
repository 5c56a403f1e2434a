/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digits.h"
#include "base/mem.h"
#include "conf/complaints_private.h"
#include "conf/text_private.h"
#include "conf/value_private.h"

/* A unit and what it is of the least one. */
struct unit {
	const char *name;
	int64_t factor;
};

/* The largest first, so that amounts are written with it. */
static const struct unit duration_units[] = {{"d", 24 * 3600 * 1000},
    {"h", 3600 * 1000}, {"m", 60 * 1000}, {"s", 1000}, {"ms", 1}, {NULL, 0}};
static const struct unit size_units[] = {{"TiB", INT64_C(1) << 40},
    {"GiB", INT64_C(1) << 30}, {"MiB", INT64_C(1) << 20}, {"KiB", 1 << 10},
    {NULL, 0}};

/*
 * Digits and a unit; INT64_MAX where the amount is beyond that, so that the
 * range refuses it.  False where the text is anything else.
 */
static bool
read_amount(const char *text, const struct unit *units, int64_t *ret_amount)
{
	struct span rest = span_str(text);
	int64_t amount;
	size_t digits = digits_take(&rest, INT64_MAX, &amount);
	const struct unit *unit = units;
	while (unit->name != NULL && strcmp(unit->name, rest.ptr) != 0)
		unit++;
	if (digits == 0 || unit->name == NULL)
		return false;
	if (__builtin_mul_overflow(amount, unit->factor, &amount))
		amount = INT64_MAX;
	*ret_amount = amount;
	return true;
}

/* The amount with the largest unit that fits, for people. */
static char *
amount_text(int64_t amount, const struct unit *units)
{
	for (; units != NULL && units->name != NULL; units++)
		if (amount > 0 && amount % units->factor == 0)
			return mem_printf("%lld%s",
			    (long long)(amount / units->factor), units->name);
	return mem_printf("%lld", (long long)amount);
}

char *
value_duration_text(int64_t ms)
{
	return amount_text(ms, duration_units);
}

char *
value_size_text(int64_t bytes)
{
	return amount_text(bytes, size_units);
}

/* Fills the field where the amount is in the option's range. */
static void
set_amount(struct loader *l, const struct given *given, int64_t amount,
    const struct unit *units)
{
	const struct option *option = given->option;
	if (amount >= option->min && amount <= option->max) {
		*(int64_t *)given_field(given) = amount;
		return;
	}
	char *min = amount_text(option->min, units);
	char *max = amount_text(option->max, units);
	complaints_at(l, given->at, "must be between %s and %s", min, max);
	free(min);
	free(max);
}

void
value_parse_boolean(struct loader *l, const struct given *given)
{
	if (!json_is_boolean(given->value))
		complaints_at(l, given->at, "must be true or false");
	else
		*(bool *)given_field(given) = json_is_true(given->value);
}

void
value_parse_count(struct loader *l, const struct given *given)
{
	if (!json_is_integer(given->value))
		complaints_at(l, given->at, "must be a whole number");
	else
		set_amount(l, given, json_integer_value(given->value), NULL);
}

void
value_parse_duration(struct loader *l, const struct given *given)
{
	int64_t amount;
	char *text = text_read(l, given->at, given->value);
	if (text == NULL)
		return;
	if (read_amount(text, duration_units, &amount))
		set_amount(l, given, amount, duration_units);
	else
		complaints_at(l, given->at,
		    "must be a duration like \"250ms\", \"30s\", \"5m\", "
		    "\"24h\" or \"30d\"");
	text_free(&text);
}

void
value_parse_size(struct loader *l, const struct given *given)
{
	static const char message[] =
	    "must be a size like \"64KiB\" or \"1MiB\", or a number of bytes";
	int64_t amount;
	if (json_is_integer(given->value)) {
		set_amount(
		    l, given, json_integer_value(given->value), size_units);
		return;
	}
	if (!text_is_one(given->value)) {
		complaints_at(l, given->at, "%s", message);
		return;
	}
	char *text = text_read(l, given->at, given->value);
	if (text == NULL)
		return;
	if (read_amount(text, size_units, &amount))
		set_amount(l, given, amount, size_units);
	else
		complaints_at(l, given->at, "%s", message);
	text_free(&text);
}

void
value_parse_mode(struct loader *l, const struct given *given)
{
	char *text = text_read(l, given->at, given->value);
	if (text == NULL)
		return;
	size_t len = strlen(text);
	unsigned long mode = strtoul(text, NULL, 8);
	if (strspn(text, "01234567") != len || len < 3 || len > 4 ||
	    mode == 0 || mode > 0777)
		complaints_at(l, given->at,
		    "must be octal permissions like \"0660\"");
	else
		*(int64_t *)given_field(given) = (int64_t)mode;
	text_free(&text);
}

void
value_clear_nothing(void *base, void *field)
{
	(void)base;
	(void)field;
}
