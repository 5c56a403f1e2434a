/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/*
 * Whether what a route asks about an unknown outcome can be asked, and would
 * never bring one tenant another's answer.  Main thread.
 */

/* Of a route with a path and idempotency, at that place of its object. */
void asks_check(struct loader *l, const struct json_place *at,
    const struct conf_route *route);

/* Whether the key stands in what is asked. */
bool asks_by_key(const struct conf_reconcile *asked);

/* The marks of all policies, of a configuration without complaints. */
void asks_mark(struct conf *conf);
