/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/must.h"
#include "base/span.h"

/* Reads the parameters of a target's query.  Pure; any thread. */

/* Cuts the next one off *query; false: there are no more. */
MUST_USE bool admin_query_next(
    struct span *query, struct span *ret_name, struct span *ret_value);
/* Reads how many a page may have, 1000 at most; false: no number from 1. */
MUST_USE bool admin_query_limit(struct span digits, size_t *ret_limit);
/* Returns a value without percent-encoding; "+" is a blank. */
struct span admin_query_text(struct arena *arena, struct span value);
enum { ADMIN_QUERY_LIMIT = 100 }; /* where nothing is said */
