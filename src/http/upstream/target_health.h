/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/body.h"
#include "http/upstream/upstreams.h"

/*
 * Health checks of the targets of upstreams that have a health.path: a GET of
 * its own for each, once in each interval.  A target that does not answer 2xx
 * or 3xx within that time is out: requests go to others for as long as there
 * are any.  It knows no requests.  The worker's thread only.
 */
struct target_health;

/* NULL: no target is checked.  The upstreams outlive it. */
struct target_health *target_health_new(struct loop *loop,
    const struct conf *conf, struct budget *budget,
    struct upstreams *upstreams);
/* Gives up what is under way; nulls the caller's pointer, accepts NULL. */
void target_health_free(struct target_health **health);
