/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

/*
 * Talks to the service manager that started us, in systemd's protocols, by
 * libsystemd, which nothing else knows.  Built --without-systemd, nobody is
 * told anything, and nothing was passed.  Main thread.
 */

/* Tells a state of sd_notify(3), such as "READY=1", where anybody listens. */
void service_manager_tell(const char *state);
/* Tells that a reload began, at this time of CLOCK_MONOTONIC. */
void service_manager_tell_reload(int64_t now_us);
/* Returns how long we may be silent (sd_watchdog_enabled(3)); 0: for ever. */
uint64_t service_manager_watchdog_us(void);

enum { SERVICE_MANAGER_FIRST_FD = 3 };
/*
 * Returns how many descriptors it passed, from that number on, or -errno, and
 * their names, which the caller frees, or NULL.  Takes them off the
 * environment.
 */
int service_manager_sockets(char ***ret_names);
