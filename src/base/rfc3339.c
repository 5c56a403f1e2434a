/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <time.h>

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
