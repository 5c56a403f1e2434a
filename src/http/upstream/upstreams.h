/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/body.h"
#include "base/counter.h"
#include "base/histogram.h"
#include "base/loop/loop.h"
#include "conf/conf.h"

/*
 * A worker has upstreams of its own: the targets of a configuration, and the
 * connections to them, over which forwards are sent (upstream/forward.h).  That
 * worker's thread only.
 */
struct upstreams;

/*
 * The upstreams of that list, mostly conf's own.  Holds a reference to conf;
 * the list and the budget outlive it.
 */
struct upstreams *upstreams_new(struct loop *loop, const struct conf *conf,
    struct budget *budget, const struct conf_upstream *list, size_t count);
/*
 * From now on took[i] counts how long each forward to the upstream of index i
 * takes, finding a connection included, and connections how many are open,
 * theirs added to those of others; all of these outlive the upstreams.
 */
void upstreams_measure(struct upstreams *upstreams,
    struct histogram *const *took, struct counter *connections);
/* From now on that gauge is 1 while that target is up; it outlives it. */
void upstreams_show(struct upstreams *upstreams, size_t upstream,
    size_t target, struct counter *up);
/* No forward may be pending; closes what is idle, nulls the pointer. */
void upstreams_free(struct upstreams **upstreams);
