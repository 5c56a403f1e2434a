/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

/*
 * What is said to the service manager that started us, and what it says in the
 * environment: systemd's protocols, by libsystemd, which nothing else knows.
 * Built --without-systemd, nobody is told anything, and nothing was passed.
 * Main thread.
 */

/* A state of sd_notify(3), "READY=1"; nothing where nobody listens. */
void service_manager_tell(const char *state);
/* That a reload began, at this time of CLOCK_MONOTONIC. */
void service_manager_tell_reload(int64_t now_us);
/* How long we may be silent (sd_watchdog_enabled(3)); 0: for ever. */
uint64_t service_manager_watchdog_us(void);

enum { SERVICE_MANAGER_FIRST_FD = 3 };
/*
 * How many descriptors it passed, from that number on, or -errno, and their
 * names, which the caller frees, or NULL.  Takes them off the environment.
 */
int service_manager_sockets(char ***ret_names);
