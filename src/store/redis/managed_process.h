/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/must.h"

/*
 * The process of a private redis-server that works in one folder: its
 * configuration, its start and its end.  All names in its configuration are
 * relative to that folder, so the folder's path needs no quoting, and may be
 * longer than a socket's path.  It knows neither the loop nor when to restart.
 * These functions may block; main thread only.
 */

/* Names in the folder. */
#define MANAGED_PROCESS_SOCKET "redis.sock"
#define MANAGED_PROCESS_LOG "redis.log"

/*
 * Writes the folder's redis.conf anew, if no link stands in the place of any
 * file that is made in the folder.  path is its name; false with a sentence in
 * *ret_message (the caller frees it).
 */
MUST_USE bool managed_process_configure(
    int folder, const char *path, char **ret_message);

/*
 * Starts it; its process id, or -1 with errno.  It gets SIGTERM when the
 * calling thread ends, and so with the gateway, however that ends.
 */
pid_t managed_process_spawn(const char *folder);

/* True where that process is a redis-server that works in the folder. */
bool managed_process_is(pid_t pid, const char *folder);

/* The process that the folder's pid file names, if it is one; else 0. */
pid_t managed_process_find(const char *folder);

/*
 * Ends a process, with SIGTERM and after ten seconds with SIGKILL, and waits
 * until it is gone.  A child is reaped.
 */
void managed_process_end(pid_t pid, const char *folder, bool is_child);

enum managed_process_answer {
	MANAGED_PROCESS_READY,
	MANAGED_PROCESS_LOADING, /* it answers, but is still reading its file */
	MANAGED_PROCESS_SILENT,
};
/*
 * Asks at its socket (PING) whether it is ready; connecting and the answer take
 * at most a second each.
 */
enum managed_process_answer managed_process_ask(const char *socket);
