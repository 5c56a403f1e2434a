/* SPDX-License-Identifier: BSD-2-Clause */
#include <sodium.h>
#include <stdlib.h>

#include "base/mem.h"
#include "conf/loader_private.h"

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
	size_t digits = strspn(text, "0123456789");
	const struct unit *unit = units;
	while (unit->name != NULL && strcmp(unit->name, text + digits) != 0)
		unit++;
	if (digits == 0 || unit->name == NULL)
		return false;

	int64_t amount = 0;
	for (size_t i = 0; i < digits; i++)
		if (__builtin_mul_overflow(amount, 10, &amount) ||
		    __builtin_add_overflow(amount, text[i] - '0', &amount))
			amount = INT64_MAX;
	if (__builtin_mul_overflow(amount, unit->factor, &amount))
		amount = INT64_MAX;
	*ret_amount = amount;
	return true;
}

/* The amount with the largest unit that fits, for people. */
static char *
amount_words(int64_t amount, const struct unit *units)
{
	for (; units != NULL && units->name != NULL; units++)
		if (amount > 0 && amount % units->factor == 0)
			return mem_printf("%lld%s",
			    (long long)(amount / units->factor), units->name);
	return mem_printf("%lld", (long long)amount);
}

char *
duration_text(int64_t ms)
{
	return amount_words(ms, duration_units);
}

char *
size_text(int64_t bytes)
{
	return amount_words(bytes, size_units);
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
	char *min = amount_words(option->min, units);
	char *max = amount_words(option->max, units);
	complain_at(l, given->at, "must be between %s and %s", min, max);
	free(min);
	free(max);
}

void
parse_boolean(struct loader *l, const struct given *given)
{
	if (!json_is_boolean(given->value))
		complain_at(l, given->at, "must be true or false");
	else
		*(bool *)given_field(given) = json_is_true(given->value);
}

void
parse_count(struct loader *l, const struct given *given)
{
	if (!json_is_integer(given->value))
		complain_at(l, given->at, "must be a whole number");
	else
		set_amount(l, given, json_integer_value(given->value), NULL);
}

void
parse_duration(struct loader *l, const struct given *given)
{
	int64_t amount;
	char *text = text_of(l, given->at, given->value);
	if (text == NULL)
		return;
	if (read_amount(text, duration_units, &amount))
		set_amount(l, given, amount, duration_units);
	else
		complain_at(l, given->at,
		    "must be a duration like \"250ms\", \"30s\", \"5m\", "
		    "\"24h\" or \"30d\"");
	text_free(&text);
}

void
parse_size(struct loader *l, const struct given *given)
{
	static const char words[] =
	    "must be a size like \"64KiB\" or \"1MiB\", or a number of bytes";
	int64_t amount;
	if (json_is_integer(given->value)) {
		set_amount(
		    l, given, json_integer_value(given->value), size_units);
		return;
	}
	if (!is_text(given->value)) {
		complain_at(l, given->at, "%s", words);
		return;
	}
	char *text = text_of(l, given->at, given->value);
	if (text == NULL)
		return;
	if (read_amount(text, size_units, &amount))
		set_amount(l, given, amount, size_units);
	else
		complain_at(l, given->at, "%s", words);
	text_free(&text);
}

int
choice_of(struct loader *l, const struct place *at, const json_t *value,
    const char *words)
{
	char *text = text_of(l, at, value);
	if (text == NULL)
		return -1;
	int index = word_index(words, text);
	if (index < 0) {
		char *listed = words_listed(words);
		complain_at(l, at, "must be %s", listed);
		free(listed);
	}
	text_free(&text);
	return index;
}

void
parse_choice(struct loader *l, const struct given *given)
{
	int index = choice_of(l, given->at, given->value, given->option->words);
	if (index >= 0)
		*(unsigned *)given_field(given) = (unsigned)index;
}

void
parse_toggle(struct loader *l, const struct given *given)
{
	int index = choice_of(l, given->at, given->value, given->option->words);
	if (index >= 0)
		*(bool *)given_field(given) = index == 1;
}

void
clear_nothing(void *base, void *field)
{
	(void)base;
	(void)field;
}
