/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/record/version.h"

#include "base/decimal.h"
#include "base/digits.h"

/* The most bytes of a version as JSON. */
enum { SHOWN_MAX = 64 };
/* Added to exponents, so that none is below 0. */
static const int64_t BIAS = INT64_C(5000000000);

/* --- numbers --- */

/* Counts each digit down from 9, a 0 before it, so that longer is less. */
static struct span
reversed(struct arena *arena, struct span digits)
{
	char *out = arena_alloc(arena, 2 * digits.len + 1);
	for (size_t i = 0; i < digits.len; i++) {
		out[2 * i] = '0';
		out[2 * i + 1] = (char)('0' + '9' - digits.ptr[i]);
	}
	out[2 * digits.len] = '1';
	return span_of(out, 2 * digits.len + 1);
}

/* spelling: of base/decimal.h, such as "-125e-2". */
static bool
read_number(struct arena *arena, struct span spelling,
    struct span *ret_version, struct span *ret_shown)
{
	/* A copy: the value may not live as long as the arena. */
	struct span plain = decimal_plain(arena, spelling);
	*ret_shown = arena_printf(arena, "%.*s", SPAN_FMT(plain));
	if (ret_shown->len > SHOWN_MAX)
		return false;
	if (span_eq(spelling, SPAN("0"))) {
		*ret_version = SPAN("11");
		return true;
	}
	bool negative = spelling.ptr[0] == '-';
	struct span left = span_from(spelling, negative), digits = left;
	int64_t any, power = 0;
	digits.len = digits_take(&left, INT64_MAX, &any);
	if (left.len > 0) {
		bool down = left.len > 1 && left.ptr[1] == '-';
		if (!digits_read(span_from(left, 1 + down), BIAS / 2, &power))
			return false;
		power = down ? -power : power;
	}
	/* The exponent is that of the first digit. */
	power += (int64_t)digits.len - 1;
	digits = arena_printf(arena, "%010lld%.*s", (long long)(BIAS + power),
	    SPAN_FMT(digits));
	if (negative)
		digits = reversed(arena, digits);
	*ret_version = arena_printf(
	    arena, "1%c%.*s", negative ? '0' : '2', SPAN_FMT(digits));
	return true;
}

/* --- times --- */

/* Takes len digits that make a number of that range. */
static bool
take_number(struct span *text, size_t len, int64_t least, int64_t most,
    int64_t *ret_number)
{
	if (text->len < len ||
	    !digits_read(span_of(text->ptr, len), most, ret_number) ||
	    *ret_number < least)
		return false;
	*text = span_from(*text, len);
	return true;
}

static bool
take_char(struct span *text, char c)
{
	if (text->len == 0 || text->ptr[0] != c)
		return false;
	*text = span_from(*text, 1);
	return true;
}

/* full-date: the days since the first of March of the year 0. */
static bool
take_date(struct span *text, int64_t *ret_days)
{
	static const char days[] = {
	    31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int64_t year, month, day;
	if (!take_number(text, 4, 0, 9999, &year) || !take_char(text, '-') ||
	    !take_number(text, 2, 1, 12, &month) || !take_char(text, '-') ||
	    !take_number(text, 2, 1, 31, &day))
		return false;
	bool leap =
	    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	if (day > days[month - 1] + (month == 2 && leap))
		return false;
	/* Years that begin in March have their leap day at their end. */
	int64_t y = month > 2 ? year : year - 1;
	int64_t m = month > 2 ? month - 3 : month + 9;
	y += 400; /* so that nothing is below 0 */
	*ret_days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 +
	    day - 1;
	return true;
}

/* time-offset, in minutes. */
static bool
take_offset(struct span *text, int64_t *ret_minutes)
{
	int64_t hours, minutes;
	*ret_minutes = 0;
	if (take_char(text, 'Z') || take_char(text, 'z'))
		return true;
	bool west = take_char(text, '-');
	if ((!west && !take_char(text, '+')) ||
	    !take_number(text, 2, 0, 23, &hours) || !take_char(text, ':') ||
	    !take_number(text, 2, 0, 59, &minutes))
		return false;
	*ret_minutes = (60 * hours + minutes) * (west ? -1 : 1);
	return true;
}

static bool
take_fraction(struct span *text, struct span *ret_digits)
{
	*ret_digits = SPAN("");
	if (!take_char(text, '.'))
		return true;
	struct span digits = *text;
	int64_t any;
	size_t len = digits.len = digits_take(text, INT64_MAX, &any);
	while (digits.len > 0 && digits.ptr[digits.len - 1] == '0')
		digits.len--;
	*ret_digits = digits;
	return len > 0;
}

static bool
read_time(struct arena *arena, struct span text, struct span *ret_version,
    struct span *ret_shown)
{
	int64_t days, hour, minute, second, offset;
	struct span rest = text, fraction;
	if (text.len > SHOWN_MAX - 2 || !take_date(&rest, &days) ||
	    (!take_char(&rest, 'T') && !take_char(&rest, 't')) ||
	    !take_number(&rest, 2, 0, 23, &hour) || !take_char(&rest, ':') ||
	    !take_number(&rest, 2, 0, 59, &minute) ||
	    !take_char(&rest, ':') ||
	    !take_number(&rest, 2, 0, 60, &second) ||
	    !take_fraction(&rest, &fraction) ||
	    !take_offset(&rest, &offset) || rest.len > 0)
		return false;
	int64_t seconds =
	    ((days * 24 + hour) * 60 + minute - offset) * 60 + second;
	*ret_version = arena_printf(arena, "2%012lld%.*s", (long long)seconds,
	    SPAN_FMT(fraction));
	*ret_shown = arena_printf(arena, "\"%.*s\"", SPAN_FMT(text));
	return true;
}

bool
version_read(struct arena *arena, const struct json *json,
    struct span *ret_version, struct span *ret_shown)
{
	struct span text;
	if (json_spelling(json, &text))
		return read_number(arena, text, ret_version, ret_shown);
	return json_text(json, &text) &&
	    read_time(arena, text, ret_version, ret_shown);
}
