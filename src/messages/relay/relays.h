/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/worker_part.h"
#include "messages/relay/relay_run.h"

/*
 * The relays of one worker, as its part: those of the configuration that are
 * its own, each begun, changed and ended as the configuration says.  A relay is
 * always the same worker's, by its name.  The worker's thread, but for the
 * meters.
 */
struct relays {
	struct worker_part part;
	struct worker *worker;
	struct list runs;    /* struct relay_run */
	struct hook hook;
	bool draining;
	struct relay_meter *_Atomic meters; /* any thread reads them */
};

extern const struct worker_part_kind relays_kind;

/* The relays of that worker; NULL: it has none. */
struct relays *relays_of(const struct worker *worker);
