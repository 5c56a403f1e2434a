/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/ascii.h"
#include "base/digits.h"
#include "base/mem.h"
#include "conf/meant.h"
#include "conf/words.h"

enum {
	SECOND = 1000,
	MINUTE = 60 * SECOND,
	HOUR = 60 * MINUTE,
	DAY = 24 * HOUR,
	LONGEST = 32, /* of what is looked at */
	LONGEST_ADDRESS = 253,
	LONGEST_TEXT = 1000,
};

/* How other programs, and people, write units. */
static const struct {
	const char *name;
	int64_t factor;
	enum amount_kind kind;
} units[] = {
    {"ms", 1, AMOUNT_DURATION},
    {"msec", 1, AMOUNT_DURATION},
    {"millis", 1, AMOUNT_DURATION},
    {"milliseconds", 1, AMOUNT_DURATION},
    {"s", SECOND, AMOUNT_DURATION},
    {"sec", SECOND, AMOUNT_DURATION},
    {"secs", SECOND, AMOUNT_DURATION},
    {"second", SECOND, AMOUNT_DURATION},
    {"seconds", SECOND, AMOUNT_DURATION},
    {"m", MINUTE, AMOUNT_DURATION},
    {"min", MINUTE, AMOUNT_DURATION},
    {"mins", MINUTE, AMOUNT_DURATION},
    {"minute", MINUTE, AMOUNT_DURATION},
    {"minutes", MINUTE, AMOUNT_DURATION},
    {"h", HOUR, AMOUNT_DURATION},
    {"hr", HOUR, AMOUNT_DURATION},
    {"hrs", HOUR, AMOUNT_DURATION},
    {"hour", HOUR, AMOUNT_DURATION},
    {"hours", HOUR, AMOUNT_DURATION},
    {"d", DAY, AMOUNT_DURATION},
    {"day", DAY, AMOUNT_DURATION},
    {"days", DAY, AMOUNT_DURATION},
    {"w", INT64_C(7) * DAY, AMOUNT_DURATION},
    {"week", INT64_C(7) * DAY, AMOUNT_DURATION},
    {"weeks", INT64_C(7) * DAY, AMOUNT_DURATION},
    {"mo", INT64_C(30) * DAY, AMOUNT_DURATION},
    {"month", INT64_C(30) * DAY, AMOUNT_DURATION},
    {"months", INT64_C(30) * DAY, AMOUNT_DURATION},
    {"y", INT64_C(365) * DAY, AMOUNT_DURATION},
    {"yr", INT64_C(365) * DAY, AMOUNT_DURATION},
    {"year", INT64_C(365) * DAY, AMOUNT_DURATION},
    {"years", INT64_C(365) * DAY, AMOUNT_DURATION},
    {"", 1, AMOUNT_SIZE},
    {"b", 1, AMOUNT_SIZE},
    {"byte", 1, AMOUNT_SIZE},
    {"bytes", 1, AMOUNT_SIZE},
    {"k", INT64_C(1) << 10, AMOUNT_SIZE},
    {"kb", INT64_C(1) << 10, AMOUNT_SIZE},
    {"kib", INT64_C(1) << 10, AMOUNT_SIZE},
    {"m", INT64_C(1) << 20, AMOUNT_SIZE},
    {"mb", INT64_C(1) << 20, AMOUNT_SIZE},
    {"mib", INT64_C(1) << 20, AMOUNT_SIZE},
    {"g", INT64_C(1) << 30, AMOUNT_SIZE},
    {"gb", INT64_C(1) << 30, AMOUNT_SIZE},
    {"gib", INT64_C(1) << 30, AMOUNT_SIZE},
    {"t", INT64_C(1) << 40, AMOUNT_SIZE},
    {"tb", INT64_C(1) << 40, AMOUNT_SIZE},
    {"tib", INT64_C(1) << 40, AMOUNT_SIZE},
};

/*
 * Of a long time in thousands of seconds: it may be in milliseconds.  30 days
 * are 2592000 seconds, and 24 hours 86400000 milliseconds.
 */
static bool
looks_like_millis(int64_t number)
{
	return number >= 1000 * 1000 &&
	    (number % HOUR == 0 || number % (DAY / SECOND) != 0);
}

/*
 * The unit of a number that has none: seconds, but milliseconds where the
 * default has them, or where a short time has thousands.
 */
static int64_t
unit_of_nothing(const struct option *option, int64_t number)
{
	int64_t preset = 0;
	const char *json = option_preset(option);
	if (json == NULL || *json != '"')
		return SECOND;
	char *text = mem_str(span_of(json + 1, strlen(json) - 2));
	bool known = amount_read(text, AMOUNT_DURATION, &preset);
	free(text);
	bool in_millis = preset % SECOND != 0 || looks_like_millis(number) ||
	    (number >= 1000 && preset < 5 * MINUTE);
	return known && in_millis ? 1 : SECOND;
}

static int64_t
unit_named(const struct option *option, struct span name,
    enum amount_kind kind, int64_t number)
{
	if (name.len == 0 && kind == AMOUNT_DURATION)
		return unit_of_nothing(option, number);
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (units[i].kind == kind &&
		    span_ieq(name, span_str(units[i].name)))
			return units[i].factor;
	return 0;
}

/* Takes a fraction off: so many of 1000 parts; -1: it has more digits. */
static int64_t
cut_thousandths(struct span *rest)
{
	int64_t parts = 0;
	int digits = 0;
	if (rest->len == 0 || rest->ptr[0] != '.')
		return 0;
	*rest = span_from(*rest, 1);
	for (; rest->len > 0 && ascii_is_digit(rest->ptr[0]); digits++) {
		parts = 10 * parts + (rest->ptr[0] - '0');
		*rest = span_from(*rest, 1);
		if (digits == 3)
			return -1;
	}
	for (; digits < 3; digits++)
		parts *= 10;
	return parts;
}

/* As people write it: a day is 24 hours. */
static char *
written(int64_t amount, enum amount_kind kind)
{
	if (kind == AMOUNT_DURATION && amount == DAY)
		return mem_str(SPAN("24h"));
	return amount_text(amount, kind);
}

/* Cuts off what stands before the next digit. */
static struct span
cut_name(struct span *rest)
{
	size_t len = 0;
	while (len < rest->len && !ascii_is_digit(rest->ptr[len]))
		len++;
	struct span name = span_of(rest->ptr, len);
	*rest = span_from(*rest, len);
	return span_trim(name);
}

/* Takes a number with its unit off, and adds it; false: it makes no sense. */
static bool
take_amount(const struct option *option, struct span *rest,
    enum amount_kind kind, int64_t *amount)
{
	int64_t number, more;
	if (digits_take(rest, INT64_MAX, &number) == 0)
		return false;
	int64_t parts = cut_thousandths(rest);
	struct span name = cut_name(rest);
	/* One of several without a unit may be of any: "1h30". */
	if (name.len == 0 && (*amount != 0 || rest->len > 0))
		return false;
	int64_t unit = unit_named(option, name, kind, number);
	return unit != 0 && parts >= 0 && unit * parts % 1000 == 0 &&
	    !__builtin_mul_overflow(number, unit, &more) &&
	    !__builtin_add_overflow(more, unit * parts / 1000, &more) &&
	    !__builtin_add_overflow(*amount, more, amount);
}

static char *
meant_by(const struct option *option, struct span text, enum amount_kind kind)
{
	int64_t amount = 0;
	struct span rest = span_trim(text);
	while (take_amount(option, &rest, kind, &amount))
		if (rest.len == 0)
			return amount < option->min || amount > option->max ||
				amount == 0
			    ? NULL
			    : written(amount, kind);
	return NULL;
}

char *
meant_amount(const struct option *option, const json_t *value,
    enum amount_kind kind)
{
	const char *text = json_string_value(value);
	if (text != NULL && strlen(text) <= LONGEST)
		return meant_by(option, span_str(text), kind);
	if (!json_is_number(value))
		return NULL;
	char *number = json_dumps(value, JSON_ENCODE_ANY);
	char *meant = meant_by(option, span_str(number), kind);
	free(number);
	return meant;
}

char *
meant_long_amount(const struct option *option, const json_t *value)
{
	int64_t preset = 0, number = json_integer_value(value);
	const char *text = json_string_value(value);
	const char *json = option_preset(option);
	if (json == NULL || *json != '"' ||
	    (text != NULL && !digits_read(span_str(text), 365, &number)))
		return NULL;
	char *plain = mem_str(span_of(json + 1, strlen(json) - 2));
	bool known = amount_read(plain, AMOUNT_DURATION, &preset);
	free(plain);
	if (!known || preset < DAY || number < 1 || number > 365)
		return NULL;
	return mem_printf(
	    "%lld%s", (long long)number, number % 24 == 0 ? "h" : "d");
}

/* Those of other programs, for what has another here. */
static struct span
without_scheme(struct span s)
{
	static const char *const schemes[] = {
	    "tcp://", "http://", "valkey://", "unix://"};
	for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
		size_t len = strlen(schemes[i]);
		if (s.len > len && span_ieq(span_of(s.ptr, len),
			span_str(schemes[i])))
			return span_from(s, len);
	}
	return s;
}

char *
meant_address(const char *text, const char *scheme)
{
	struct span rest = without_scheme(span_trim(span_str(text)));
	bool host = false;
	if (rest.len == 0 || rest.len > LONGEST_ADDRESS ||
	    memchr(rest.ptr, '@', rest.len) != NULL)
		return NULL;
	if (rest.ptr[0] == '/')
		return mem_printf("unix:%.*s", SPAN_FMT(rest));
	for (size_t i = 0; i < rest.len && rest.ptr[i] != '/'; i++)
		host = host || rest.ptr[i] == '.' || rest.ptr[i] == ':';
	if (!host && !span_ieq(rest, SPAN("localhost")))
		return NULL;
	return mem_printf("%s%.*s", scheme, SPAN_FMT(rest));
}

char *
meant_status(const char *text)
{
	int64_t number;
	struct span s = span_trim(span_str(text));
	if (s.len != 3 || s.ptr[0] < '2' || s.ptr[0] > '5')
		return NULL;
	if (digits_read(s, 599, &number))
		return mem_str(s);
	return mem_printf("%cxx", s.ptr[0]);
}

/* --- other shapes of a value --- */

char *
meant_pointer(const char *text)
{
	struct span rest = span_str(text), name;
	char *pointer = mem_str(SPAN(""));
	bool known = rest.len > 0;
	if (span_starts(rest, SPAN("$.")))
		rest = span_from(rest, 2);
	while (known && span_next(&rest, '.', &name)) {
		char *longer =
		    mem_printf("%s/%.*s", pointer, SPAN_FMT(name));
		known = name.len > 0;
		for (size_t i = 0; i < name.len; i++)
			known = known &&
			    (ascii_is_alpha(name.ptr[i]) ||
				ascii_is_digit(name.ptr[i]) ||
				memchr("_-", name.ptr[i], 2) != NULL);
		free(pointer);
		pointer = longer;
	}
	if (known)
		return pointer;
	free(pointer);
	return NULL;
}

char *
meant_field(const char *text)
{
	const char *colon = strchr(text, ':');
	return colon != NULL
	    ? mem_str(span_trim(span_of(text, (size_t)(colon - text))))
	    : NULL;
}

static bool
takes_list(enum option_type type)
{
	static const enum option_type types[] = {TYPE_DERIVE_KEY, TYPE_ENTITY,
	    TYPE_FIELDS, TYPE_HOST_PORTS, TYPE_IGNORED, TYPE_KEY_FIELDS,
	    TYPE_LABEL, TYPE_LISTENS, TYPE_METHODS, TYPE_NETWORKS, TYPE_PARTS,
	    TYPE_POINTERS, TYPE_ROUTE_NAMES, TYPE_SCOPES, TYPE_SOURCE_KEY,
	    TYPE_SOURCE_ORDER, TYPE_STATUSES, TYPE_TARGETS, TYPE_TOPICS};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i] == type)
			return true;
	return false;
}

/* A list of the one value, which is taken over; NULL stays NULL. */
static json_t *
list_of_one(json_t *one)
{
	return one != NULL ? json_pack("[o]", one) : NULL;
}

/* "a, b" as a list; NULL: it has no comma. */
static json_t *
list_of_parts(const char *text)
{
	struct span rest = span_str(text), part;
	json_t *list = strchr(text, ',') != NULL ? json_array() : NULL;
	while (list != NULL && span_next(&rest, ',', &part)) {
		part = span_trim(part);
		json_array_append_new(list, json_stringn(part.ptr, part.len));
	}
	return list;
}

static json_t *
string_of_pointer(const char *text)
{
	char *pointer = meant_pointer(text);
	json_t *string = pointer != NULL ? json_string(pointer) : NULL;
	free(pointer);
	return string;
}

/* "Idempotency-Key:", as the name of a header stands before its value. */
static json_t *
string_before_colon(const char *text)
{
	const char *colon = strchr(text, ':');
	return colon != NULL && colon[1] == '\0'
	    ? json_stringn(text, (size_t)(colon - text))
	    : NULL;
}

/* What a port, a status or permissions stand for as a number. */
static json_t *
meant_by_number(const struct option *option, int64_t number)
{
	long long n = number;
	if (option->type == TYPE_ADDRESS)
		return json_sprintf("127.0.0.1:%lld", n);
	if (option->type == TYPE_LISTENS)
		return list_of_one(json_sprintf(":%lld", n));
	if (option->type == TYPE_STATUSES)
		return list_of_one(json_integer(number));
	/* A lower one is hardly meant: 432 is 0660 in another base. */
	if (option->type == TYPE_MODE && n >= 600)
		return json_sprintf("0%lld", n);
	return NULL;
}

/* Whether it is a word of "key" or "order_by", in the wrong one of them. */
static bool
is_word_of_source(const struct option *option, const char *text)
{
	static const char *const both[] = {"key", "order_by"};
	bool word = false;
	for (size_t i = 0; i < 2; i++) {
		const struct option *one =
		    option_of_path(GROUP_SOURCE, both[i]);
		word |= words_index(one->words, text) >= 0;
	}
	return word && (option->type == TYPE_SOURCE_KEY ||
	    option->type == TYPE_SOURCE_ORDER);
}

/* What has an "@" may have a password, which is not repeated. */
void
meant_values(const struct option *option, const json_t *value,
    json_t *ret_values[static MEANT_VALUES])
{
	const char *text = json_string_value(value);
	int64_t number = json_integer_value(value);
	memset(ret_values, 0, MEANT_VALUES * sizeof *ret_values);
	bool numeric = json_is_integer(value) ||
	    (text != NULL && takes_list(option->type) &&
		digits_read(span_str(text), UINT16_MAX, &number));
	if (numeric)
		ret_values[0] = meant_by_number(option, number);
	if (text == NULL || strlen(text) > LONGEST_TEXT ||
	    strchr(text, '@') != NULL)
		return;
	if (option->type == TYPE_POINTER)
		ret_values[1] = string_of_pointer(text);
	else
		ret_values[1] = string_before_colon(text);
	if (!takes_list(option->type))
		return;
	if (ret_values[1] == NULL)
		ret_values[1] = list_of_parts(text);
	ret_values[2] = list_of_one(json_string(text));
	if (!is_word_of_source(option, text))
		ret_values[3] = list_of_one(string_of_pointer(text));
}
