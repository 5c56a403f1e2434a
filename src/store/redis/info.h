/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/span.h"
#include "conf/conf.h"

/*
 * Reads the text of INFO, in which Redis describes itself ("name:value" lines),
 * and says which of it makes that Redis unfit for us (tbl/faults.h).  It knows
 * no connection.  Pure; any thread.
 */
enum info_fault {
	FAULT_NONE,
#define FAULT(name, message) FAULT_##name,
#include "tbl/faults.h"
#undef FAULT
	FAULT_COUNT_,
};

/* The reason why no promise can be kept with it; FAULT_NONE: it can. */
enum info_fault info_fault(const struct conf *conf, struct span info);
/*
 * Single checks, of the text alone: a master; able to evict keys, which is a
 * memory limit with a policy but noeviction.
 */
bool info_is_master(struct span info);
bool info_may_evict(struct span info);
/* The number of replicas that are online, that is, have caught up. */
int info_replicas(struct span info);
/* The message of each fault; NULL for FAULT_NONE. */
extern const char *const info_fault_messages[FAULT_COUNT_];
/* The number in a line "name:number"; 0 where there is none. */
uint64_t info_number(struct span info, struct span name);
/*
 * The value in a line "name:value", a part of info; empty where there is none.
 */
struct span info_value(struct span info, struct span name);
