/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <time.h>

#include "base/ascii.h"
#include "base/digest.h"
#include "base/digits.h"
#include "base/random.h"
#include "base/test_build.h"
#include "http/head/header_value.h"

enum { REQUEST_ID_MAX = 128, REQUEST_ID_RANDOM = 16 };

/* A day: who prefers to wait for longer is taken to mean that. */
enum { PREFER_WAIT_MAX_S = 86400 };

/* Worked out once a second; strftime would use the words of the locale. */
struct span
header_value_date(struct arena *arena, int64_t wall_ms)
{
	static const char days[] = "SunMonTueWedThuFriSat";
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	static _Thread_local struct {
		time_t second;
		char text[64];
	} cache = {.second = -1};
	time_t second = (time_t)(wall_ms / 1000);
	struct tm tm;
	if (second != cache.second) {
		must(gmtime_r(&second, &tm) != NULL);
		snprintf(cache.text, sizeof cache.text,
		    "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT",
		    days + 3 * tm.tm_wday, tm.tm_mday,
		    months + 3 * tm.tm_mon, tm.tm_year + 1900, tm.tm_hour,
		    tm.tm_min, tm.tm_sec);
		cache.second = second;
	}
	return arena_dup(arena, span_str(cache.text));
}

static bool
is_sane_id(struct span id)
{
	static const char others[] = "._~+/=:@-";

	for (size_t i = 0; i < id.len; i++) {
		char c = id.ptr[i];
		if (!ascii_is_digit(c) && !ascii_is_alpha(c) &&
		    (c == '\0' || !strchr(others, c)))
			return false;
	}
	return id.len >= 1 && id.len <= REQUEST_ID_MAX;
}

struct span
header_value_request_id(struct arena *arena, const struct fields *fields)
{
	struct span name = SPAN("X-Request-Id");
	size_t at = 0;
	const struct field *f = fields_next(fields, name, &at);
	uint8_t random[REQUEST_ID_RANDOM];
	char hex[2 * REQUEST_ID_RANDOM + 1];

	if (f && (is_sane_id(f->value) || !INVARIANT(sane_request_id)) &&
	    !fields_next(fields, name, &at))
		return arena_dup(arena, f->value);
	random_bytes(random, sizeof(random));
	hex_encode(random, sizeof(random), hex);
	return arena_dup(arena, span_str(hex));
}

int64_t
header_value_prefer_wait(struct span preference)
{
	struct span name = preference;
	const char *mark = memchr(name.ptr, '=', name.len);
	if (mark == NULL)
		return -1;
	name.len = (size_t)(mark - name.ptr);
	struct span value = span_trim(span_from(preference, name.len + 1));
	if (!span_ieq(span_trim(name), SPAN("wait")) || value.len == 0)
		return -1;
	int64_t seconds;
	digits_take(&value, PREFER_WAIT_MAX_S, &seconds);
	return value.len == 0 ? seconds : -1;
}

int64_t
header_value_retry_after(const struct fields *fields, int64_t now_ms)
{
	static const int64_t year_ms = INT64_C(365) * 24 * 3600 * 1000;
	const struct field *field = fields_first(fields, SPAN("Retry-After"));
	int64_t seconds, ms = 0;
	char text[40];
	struct tm tm = {0};
	if (field == NULL)
		return 0;
	if (digits_read(field->value, INT32_MAX, &seconds)) {
		ms = seconds * 1000;
	} else {
		/* An IMF-fixdate is all else that may be sent. */
		snprintf(text, sizeof text, "%.*s", SPAN_FMT(field->value));
		const char *end =
		    strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm);
		if (end != NULL && *end == '\0')
			ms = (int64_t)timegm(&tm) * 1000 - now_ms;
	}
	if (ms < 0)
		return 0;
	return ms < year_ms ? ms : year_ms;
}
