/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/loop.h"

/*
 * The service manager's watchdog (sd_watchdog_enabled(3), WatchdogSec= of
 * systemd): a sign of life goes out only when every worker has answered a
 * ping that was posted to its loop, so that one hung worker gets the process
 * restarted, and so does a hung main thread.  It knows nothing of what
 * workers do.  Main thread.
 */
struct worker;

struct watchdog {
	struct worker *const *workers;
	unsigned n_workers;
	unsigned silent; /* workers that have not answered the last ping */
	int64_t pause_ms; /* from their answers to the next ping; 0: off */
	struct loop *loop;
	struct timer timer;
};

/*
 * From now on, three signs in each span that the service manager allows; does
 * nothing where it asks for none, or asks another process.  The list of workers
 * stays the caller's and outlives the watchdog.
 */
void watchdog_start(struct watchdog *watchdog, struct loop *loop,
    struct worker *const *workers, unsigned n_workers);
/* No sign comes after it: how long an end may take, others watch. */
void watchdog_stop(struct watchdog *watchdog);
