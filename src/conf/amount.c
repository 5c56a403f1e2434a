/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/amount.h"

#include <stdio.h>

#include "base/digits.h"

/* A unit and what it is of the least one. */
struct unit {
	const char *name;
	int64_t factor;
};

/* The largest first, so that amounts are written with it. */
static const struct unit durations[] = {{"d", 24 * 3600 * 1000},
    {"h", 3600 * 1000}, {"m", 60 * 1000}, {"s", 1000}, {"ms", 1}, {NULL, 0}};
static const struct unit sizes[] = {{"TiB", INT64_C(1) << 40},
    {"GiB", INT64_C(1) << 30}, {"MiB", INT64_C(1) << 20}, {"KiB", 1 << 10},
    {NULL, 0}};

static const struct unit counts[] = {{NULL, 0}};

static const struct unit *const units_of[] = {
    [AMOUNT_COUNT] = counts,
    [AMOUNT_DURATION] = durations,
    [AMOUNT_SIZE] = sizes,
};

bool
amount_read(const char *text, enum amount_kind kind, int64_t *ret_amount)
{
	struct span rest = span_str(text);
	int64_t amount;
	size_t digits = digits_take(&rest, INT64_MAX, &amount);
	const struct unit *unit = units_of[kind];
	while (unit->name != NULL && strcmp(unit->name, rest.ptr) != 0)
		unit++;
	if (digits == 0 || unit->name == NULL)
		return false;
	if (__builtin_mul_overflow(amount, unit->factor, &amount))
		amount = INT64_MAX;
	*ret_amount = amount;
	return true;
}

struct amount_words
amount_words(int64_t amount, enum amount_kind kind)
{
	const struct unit *unit = units_of[kind];
	const char *name = kind == AMOUNT_DURATION ? "s" : "";
	struct amount_words words;
	while (unit->name != NULL && (amount <= 0 || amount % unit->factor))
		unit++;
	if (unit->name != NULL) {
		amount /= unit->factor;
		name = unit->name;
	}
	snprintf(words.text, sizeof words.text, "%lld%s", (long long)amount,
	    name);
	return words;
}
