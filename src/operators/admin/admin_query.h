/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/must.h"
#include "base/span.h"

/* The parameters of a target's query.  Pure; any thread. */

/* The next one, cut off *query; false: there are no more. */
MUST_USE bool admin_query_next(
    struct span *query, struct span *ret_name, struct span *ret_value);
/* How many a page of a list may have, 1000 at most; false: no number from 1. */
MUST_USE bool admin_query_limit(struct span digits, size_t *ret_limit);
/* The text of a value, without percent-encoding; "+" is a blank. */
struct span admin_query_text(struct arena *arena, struct span value);
enum { ADMIN_QUERY_LIMIT = 100 }; /* where nothing is said */
