/* SPDX-License-Identifier: BSD-2-Clause */
#include <limits.h>
#include <string.h>
#include <time.h>

#include "base/digits.h"
#include "conf/amount.h"
#include "operators/commands/events_from.h"

/* --- a time --- */

/* Exactly so many digits; false: others. */
static bool
take_digits(struct span *text, size_t count, int *ret_number)
{
	int64_t number;
	if (text->len < count ||
	    !digits_read(span_of(text->ptr, count), INT_MAX, &number))
		return false;
	*text = span_from(*text, count);
	*ret_number = (int)number;
	return true;
}

static bool
take_one_of(struct span *text, const char *bytes)
{
	if (text->len == 0 || text->ptr[0] == '\0' ||
	    strchr(bytes, text->ptr[0]) == NULL)
		return false;
	*text = span_from(*text, 1);
	return true;
}

static bool
take_date(struct span *text, struct tm *tm)
{
	if (!take_digits(text, 4, &tm->tm_year) || !take_one_of(text, "-") ||
	    !take_digits(text, 2, &tm->tm_mon) || !take_one_of(text, "-") ||
	    !take_digits(text, 2, &tm->tm_mday))
		return false;
	tm->tm_year -= 1900;
	tm->tm_mon--;
	return tm->tm_mon >= 0 && tm->tm_mon < 12 && tm->tm_mday >= 1 &&
	    tm->tm_mday <= 31;
}

static bool
take_clock(struct span *text, struct tm *tm)
{
	return take_digits(text, 2, &tm->tm_hour) && tm->tm_hour < 24 &&
	    take_one_of(text, ":") && take_digits(text, 2, &tm->tm_min) &&
	    tm->tm_min < 60 && take_one_of(text, ":") &&
	    take_digits(text, 2, &tm->tm_sec) && tm->tm_sec <= 60;
}

/* What stands behind the seconds; the first three digits count. */
static bool
take_fraction(struct span *text, int64_t *ret_ms)
{
	int64_t ms = 0, digits;
	if (!take_one_of(text, "."))
		return true;
	struct span all = *text;
	size_t count = digits_take(text, INT64_MAX, &digits);
	for (size_t i = 0; i < 3; i++)
		ms = ms * 10 + (i < count ? all.ptr[i] - '0' : 0);
	*ret_ms = ms;
	return count > 0;
}

/* "Z", or how far the clock is ahead of UTC. */
static bool
take_zone(struct span *text, int64_t *ret_ms)
{
	int hours, minutes;
	if (take_one_of(text, "Zz"))
		return true;
	bool behind = text->len > 0 && text->ptr[0] == '-';
	if (!take_one_of(text, "+-") || !take_digits(text, 2, &hours) ||
	    !take_one_of(text, ":") || !take_digits(text, 2, &minutes) ||
	    hours > 23 || minutes > 59)
		return false;
	int64_t ms = (int64_t)(hours * 60 + minutes) * 60000;
	*ret_ms = behind ? -ms : ms;
	return true;
}

static bool
read_time(struct span text, int64_t *ret_ms)
{
	struct tm tm = {0};
	int64_t fraction_ms = 0, ahead_ms = 0;
	if (!take_date(&text, &tm) || !take_one_of(&text, "Tt ") ||
	    !take_clock(&text, &tm) || !take_fraction(&text, &fraction_ms) ||
	    !take_zone(&text, &ahead_ms) || text.len > 0)
		return false;
	*ret_ms = (int64_t)timegm(&tm) * 1000 + fraction_ms - ahead_ms;
	return *ret_ms >= 0;
}

/* --- all of them --- */

bool
events_from_read(const char *text, int64_t now_ms,
    enum events_from *ret_from, struct event_id *ret_since)
{
	/* A shard that there is not: of all shards alike. */
	struct event_id since = {.shard = UINT_MAX};
	int64_t ms;
	*ret_from = EVENTS_SINCE;
	if (text == NULL)
		*ret_from = EVENTS_ALL;
	else if (strcmp(text, "now") == 0)
		*ret_from = EVENTS_NOW;
	else if (amount_read(text, AMOUNT_DURATION, &ms))
		since.ms = ms < now_ms ? (uint64_t)(now_ms - ms) : 0;
	else if (read_time(span_str(text), &ms))
		since.ms = (uint64_t)ms;
	else if (!event_read(span_str(text), &since) &&
	    !event_read_entry(span_str(text), &since))
		return false;
	*ret_since = since;
	return true;
}
