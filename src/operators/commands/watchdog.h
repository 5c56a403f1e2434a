/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/loop.h"

/*
 * The service manager's watchdog (sd_watchdog_enabled(3), WatchdogSec= of
 * systemd) gets a sign of life only when every worker has answered a ping that
 * was posted to its loop.  So one hung worker gets the process restarted, and
 * so does a hung main thread.  Nothing here knows what workers do.  Main
 * thread.
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
 * Gives three signs in each span that the service manager allows, from now on;
 * does nothing where it asks for none, or asks another process.  The list of
 * workers stays the caller's and outlives the watchdog.
 */
void watchdog_start(struct watchdog *watchdog, struct loop *loop,
    struct worker *const *workers, unsigned n_workers);
/* Stops the signs: others watch how long the end takes. */
void watchdog_stop(struct watchdog *watchdog);
