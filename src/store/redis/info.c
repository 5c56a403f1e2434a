/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/test_build.h"
#include "store/redis/info.h"

enum { VERSION_LEAST = 7 };

const char *const info_fault_messages[FAULT_COUNT_] = {
    NULL,
#define FAULT(name, words) words,
#include "tbl/faults.h"
#undef FAULT
};

struct span
info_value(struct span info, struct span name)
{
	struct span line;
	while (span_next(&info, '\n', &line)) {
		if (line.len > name.len && span_starts(line, name) &&
		    line.ptr[name.len] == ':') {
			line = span_from(line, name.len + 1);
			if (line.len > 0 && line.ptr[line.len - 1] == '\r')
				line.len--;
			return line;
		}
	}
	return SPAN("");
}

uint64_t
info_number(struct span info, struct span name)
{
	struct span value = info_value(info, name);
	return value.len > 0 ? strtoull(value.ptr, NULL, 10) : 0;
}

bool
info_is_master(struct span info)
{
	return span_eq(info_value(info, SPAN("role")), SPAN("master"));
}

bool
info_may_evict(struct span info)
{
	struct span policy = info_value(info, SPAN("maxmemory_policy"));
	struct span limit = info_value(info, SPAN("maxmemory"));
	return !span_eq(limit, SPAN("0")) &&
	    !span_eq(policy, SPAN("noeviction"));
}

int
info_replicas(struct span info)
{
	static const char online[] = "state=online";
	int n = 0;
	for (int i = 0;; i++) {
		char name[24];
		snprintf(name, sizeof name, "slave%d", i);
		struct span line = info_value(info, span_str(name));
		if (line.len == 0)
			return n;
		n += memmem(line.ptr, line.len, online, sizeof online - 1) !=
		    NULL;
	}
}

enum info_fault
info_fault(const struct conf *conf, struct span info)
{
	if (info_number(info, SPAN("redis_version")) < VERSION_LEAST)
		return FAULT_VERSION;
	/* In a cluster the topology says who the masters are. */
	if (!info_is_master(info) && conf->store.redis.cluster.count > 0)
		return FAULT_NONE;
	if (!info_is_master(info) && INVARIANT(master_only))
		return FAULT_ROLE;
	if (!conf->store.allow_eviction && info_may_evict(info) &&
	    INVARIANT(no_eviction))
		return FAULT_EVICTION;
	return FAULT_NONE;
}
