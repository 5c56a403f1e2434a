/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

#include "conf/conf.h"

/*
 * What a route that only observes would have done with a request: judged by
 * what the request says of its key, and by what Redis knows of that, which is
 * asked beside the request and never in its way.  It makes no records
 * (lua/observe.lua) and holds nothing up; it is counted in the worker's meter,
 * and a duplicate stands in its list of them (key/duplicates.h) and in the log.
 * The worker's thread only.
 */
struct claimant;
struct forward;
struct observation;

/*
 * Judges the request of a route that observes; whole: all of its body is here.
 * Where Redis has to be asked, the caller ends what is returned; else NULL.
 */
struct observation *observation_begin(struct claimant *c, bool whole);
/*
 * What the request has come to: its answer, or NULL where nobody knows.  Redis
 * is told where no other request came before, now or once that is known.  Nulls
 * the caller's pointer.
 */
void observation_end(struct observation **observation,
    const struct conf_idempotency *policy, const struct forward *forward);
