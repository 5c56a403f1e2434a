/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/show.h"

/*
 * One show_ function for each way in which the types of conf/types.h are
 * written; for show.c alone.
 */

/* An object of a group: all of its options that have a value (show.c). */
json_t *group_show(enum group group, const void *base);

#define SHOW(name)                                               \
	json_t *show_##name(const struct option *option,         \
	    const void *base, const void *field);
SHOW(boolean)
SHOW(count)
SHOW(duration)
SHOW(size)
SHOW(choice)
SHOW(toggle)
SHOW(text)
SHOW(secret)
SHOW(strings)
SHOW(one_or_more)
SHOW(pointers)
SHOW(derive_key)
SHOW(parts)
SHOW(outcomes)
SHOW(on_unknown)
SHOW(address)
SHOW(redis)
SHOW(mode)
SHOW(upstream_name)
SHOW(targets)
SHOW(listens)
SHOW(encryption_keys)
SHOW(upstreams)
SHOW(routes)
SHOW(idempotency)
#undef SHOW
