/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/span.h"

/*
 * The name that somebody may have meant by one that does not exist: the
 * nearest of those that do, if it is near.  Pure; any thread.
 */
struct nearest {
	struct span wanted;
	struct span found; /* ptr NULL: none is near */
	size_t distance;
};

/* A search for what is near to a name, which outlives it. */
struct nearest nearest_to(struct span wanted);
/*
 * One that exists and outlives the search; of those that are as near, the
 * first counts.
 */
void nearest_try(struct nearest *nearest, struct span name);
