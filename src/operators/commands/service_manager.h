/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/loop.h"

/*
 * Talks to the service manager that started us, in systemd's protocols, by
 * libsystemd, which nothing else knows.  Built --without-systemd, nobody is
 * told anything, and nothing was passed.  Main thread.
 */

/* Tells a state of sd_notify(3), such as "READY=1", where anybody listens. */
void service_manager_tell(const char *state);
/* Tells that a reload began, at this time of CLOCK_MONOTONIC. */
void service_manager_tell_reload(int64_t now_us);

enum { SERVICE_MANAGER_FIRST_FD = 3 };
/*
 * Returns how many descriptors it passed, from that number on, or -errno, and
 * their names, which the caller frees, or NULL.  Takes them off the
 * environment.
 */
int service_manager_sockets(char ***ret_names);

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
void service_manager_watchdog_start(struct watchdog *watchdog,
    struct loop *loop, struct worker *const *workers, unsigned n_workers);
/* Stops the signs: others watch how long the end takes. */
void service_manager_watchdog_stop(struct watchdog *watchdog);
