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

bool
rfc3339_read(struct span text, int64_t *ret_ms)
{
	char copy[RFC3339_MAX];
	struct tm tm = {0};
	int64_t ms;
	if (text.len >= sizeof copy)
		return false;
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	const char *rest = strptime(copy, "%Y-%m-%dT%H:%M:%S", &tm);
	if (rest == NULL || strlen(rest) != sizeof ".000Z" - 1 ||
	    rest[0] != '.' || rest[4] != 'Z' ||
	    !digits_read(span_of(rest + 1, 3), 999, &ms))
		return false;
	*ret_ms = (int64_t)timegm(&tm) * 1000 + ms;
	return true;
}
