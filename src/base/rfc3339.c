/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <time.h>

#include "base/digits.h"
#include "base/rfc3339.h"

const char *
rfc3339_write(int64_t ms, char text[RFC3339_MAX])
{
	struct tm tm;
	time_t seconds = (time_t)(ms / 1000);
	text[0] = '\0';
	if (ms < 0 || gmtime_r(&seconds, &tm) == NULL ||
	    tm.tm_year > 9999 - 1900)
		return text;
	size_t len = strftime(text, RFC3339_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + len, RFC3339_MAX - len, ".%03dZ", (int)(ms % 1000));
	return text;
}

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

/* full-date: the days since 1970. */
static bool
take_date(struct span *text, int64_t *ret_days)
{
	static const char days[] = {
	    31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int64_t year, month, day;
	if (!take_number(text, 4, 0, 9999, &year) ||
	    !span_skip(text, SPAN("-")) ||
	    !take_number(text, 2, 1, 12, &month) ||
	    !span_skip(text, SPAN("-")) || !take_number(text, 2, 1, 31, &day))
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
	    day - 1 - 865565;
	return true;
}

bool
rfc3339_parse(
    struct span text, int64_t *ret_seconds, struct span *ret_fraction)
{
	int64_t days, hour, minute, second, hours = 0, minutes = 0, any;
	bool west = false;
	if (!take_date(&text, &days) ||
	    (!span_skip(&text, SPAN("T")) && !span_skip(&text, SPAN("t"))) ||
	    !take_number(&text, 2, 0, 23, &hour) ||
	    !span_skip(&text, SPAN(":")) ||
	    !take_number(&text, 2, 0, 59, &minute) ||
	    !span_skip(&text, SPAN(":")) ||
	    !take_number(&text, 2, 0, 60, &second))
		return false;
	struct span fraction = SPAN("");
	if (span_skip(&text, SPAN("."))) {
		fraction = text;
		fraction.len = digits_take(&text, INT64_MAX, &any);
		if (fraction.len == 0)
			return false;
	}
	if (!span_skip(&text, SPAN("Z")) && !span_skip(&text, SPAN("z"))) {
		west = span_skip(&text, SPAN("-"));
		if ((!west && !span_skip(&text, SPAN("+"))) ||
		    !take_number(&text, 2, 0, 23, &hours) ||
		    !span_skip(&text, SPAN(":")) ||
		    !take_number(&text, 2, 0, 59, &minutes))
			return false;
	}
	if (text.len > 0)
		return false;
	minute -= (60 * hours + minutes) * (west ? -1 : 1);
	*ret_seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
	*ret_fraction = fraction;
	return true;
}

bool
rfc3339_read(struct span text, int64_t *ret_ms)
{
	int64_t seconds, ms = 0;
	struct span fraction;
	if (!rfc3339_parse(text, &seconds, &fraction) || seconds < 0)
		return false;
	for (size_t i = 0; i < 3; i++)
		ms = 10 * ms +
		    (i < fraction.len ? fraction.ptr[i] - '0' : 0);
	*ret_ms = 1000 * seconds + ms;
	return true;
}
