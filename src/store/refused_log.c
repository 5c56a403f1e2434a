/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "base/loop/loop.h"
#include "store/refused_log.h"
#include "store/store_parts.h"

enum { QUIET_MS = 1000 };

void
refused_log(struct store *store, enum event event, const char *operation,
    const char *error)
{
	char kind[sizeof store->refused];
	size_t len = strcspn(error, " ");
	snprintf(kind, sizeof kind, "%.*s",
	    (int)(len < sizeof kind ? len : sizeof kind - 1), error);
	int64_t now_ms = clock_us() / 1000;
	if (strcmp(kind, store->refused) == 0 &&
	    now_ms - store->refused_ms < QUIET_MS)
		return;
	memcpy(store->refused, kind, sizeof kind);
	store->refused_ms = now_ms;
	struct logline line = log_begin(event);
	log_str(&line, "operation", operation);
	log_str(&line, "error", error);
	log_end(&line);
}
