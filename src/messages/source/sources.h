/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/worker_part.h"
#include "messages/source/source.h"

/*
 * The sources of one worker, as its part: those of the configuration that are
 * its own, each begun, changed and ended as the configuration says.  A source
 * is always the same worker's, by its name.  The worker's thread, but for the
 * meters.
 */
struct sources {
	struct worker_part part;
	struct worker *worker;
	struct list list; /* of struct source; one that drains is gone soon */
	struct hook hook;
	bool draining;
	struct source_meters meters; /* any thread reads them */
};

extern const struct worker_part_kind sources_kind;

/* The sources of that worker; NULL: it has none. */
struct sources *sources_of(const struct worker *worker);
