/* SPDX-License-Identifier: BSD-2-Clause */
#include "messages/relay/webhook_retry.h"

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
