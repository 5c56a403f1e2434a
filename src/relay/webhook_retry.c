/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <time.h>

#include "base/digits.h"
#include "relay/webhook_retry.h"

enum { JITTER_PART = 4 /* of the whole, at most */ };

bool
webhook_retry_next(unsigned tries, int64_t age_ms, int64_t after_ms,
    uint32_t chance, int64_t *ret_ms)
{
	int64_t ms = WEBHOOK_RETRY_FIRST_MS;
	int64_t left_ms = WEBHOOK_RETRY_LAST_MS - age_ms;
	for (unsigned i = 1; i < tries && ms < WEBHOOK_RETRY_MOST_MS; i++)
		ms *= 2;
	if (ms > WEBHOOK_RETRY_MOST_MS)
		ms = WEBHOOK_RETRY_MOST_MS;
	ms += chance % (uint32_t)(ms / JITTER_PART);
	if (ms < after_ms)
		ms = after_ms;
	if (left_ms <= 0)
		return false;
	*ret_ms = ms < left_ms ? ms : left_ms;
	return true;
}

/* An IMF-fixdate, which is all that may be sent; -1: it is none. */
static int64_t
date_ms(struct span text)
{
	char copy[40];
	struct tm tm = {0};
	snprintf(copy, sizeof copy, "%.*s", SPAN_FMT(text));
	const char *end = strptime(copy, "%a, %d %b %Y %H:%M:%S GMT", &tm);
	if (end == NULL || *end != '\0')
		return -1;
	return (int64_t)timegm(&tm) * 1000;
}

int64_t
webhook_retry_after(const struct fields *fields, int64_t now_ms)
{
	const struct field *field = fields_first(fields, SPAN("Retry-After"));
	int64_t seconds;
	if (field == NULL)
		return 0;
	if (digits_read(field->value, WEBHOOK_RETRY_LAST_MS, &seconds))
		return seconds * 1000;
	int64_t at_ms = date_ms(field->value);
	return at_ms > now_ms ? at_ms - now_ms : 0;
}
