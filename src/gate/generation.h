/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"
#include "gate/meter.h"
#include "http/upstream/upstreams.h"

/*
 * A generation is one configuration as a worker serves it: routes, limits and
 * the connections to its upstreams.  A reload makes the next one; a request
 * that began under the last keeps that to its end.  A reload cannot change the
 * store, above all: for such things the worker's first configuration counts.
 * The worker's thread only.
 */
struct generation {
	unsigned refs;
	const struct conf *conf;
	struct upstreams *upstreams;
	struct target_health *health; /* NULL: no target is checked */
	struct {
		struct series **routes;
		struct histogram **upstreams;
	} metered; /* by the indexes of its routes and upstreams */
};

/* Makes one with one reference, which takes a reference to conf. */
struct generation *generation_new(struct loop *loop, const struct conf *conf,
    struct budget *budget, struct meter *meter);
struct generation *generation_ref(struct generation *generation);
/* The last reference closes its connections; nulls the caller's pointer. */
void generation_unref(struct generation **generation);
