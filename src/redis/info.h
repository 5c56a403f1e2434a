/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/span.h"
#include "conf/conf.h"

/*
 * What Redis says of itself, the text of INFO, and what is held against it.
 * Pure; any thread.
 */
enum info_fault {
	FAULT_NONE,
#define FAULT(name, message) FAULT_##name,
#include "tbl/faults.h"
#undef FAULT
};

/* Why the promise cannot be held with such a Redis; FAULT_NONE: it can. */
enum info_fault info_fault(const struct conf *conf, struct span info);
/* Each by itself, of the text alone. */
bool info_is_old(struct span info);
bool info_is_master(struct span info);
bool info_may_evict(struct span info);
/* The replicas that have caught up. */
int info_replicas(struct span info);
/* The sentence of a fault; NULL of FAULT_NONE. */
const char *info_fault_message(enum info_fault fault);
/* The value of a line "name:number"; 0 where there is none. */
uint64_t info_number(struct span info, struct span name);
/* The value of a line "name:value"; empty where there is none. */
struct span info_value(struct span info, struct span name);
