/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

#include "conf/conf.h"

/*
 * A route that only observes passes all requests on.  An observation finds out,
 * beside a request, how it would have ended: by its key, and by what Redis,
 * which is asked, knows of that.  It makes no records (lua/observe.lua) and
 * delays nothing.  The worker's meter counts the results; duplicates stand in a
 * list (key/duplicates.h) and in the log.  The worker's thread only.
 */
struct claimant;
struct forward;
struct observation;

/*
 * Begins to observe a request; whole: all of its body is here.  Returns NULL
 * where Redis need not be asked; else the caller ends it.
 */
struct observation *observation_begin(struct claimant *c, bool whole);
/*
 * Tells how the request has ended; NULL: nobody knows.  Where no other request
 * came before, Redis is told, now or once that is known.  Nulls the caller's
 * pointer.
 */
void observation_end(struct observation **observation,
    const struct conf_idempotency *policy, const struct forward *forward);
