/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * The process of a private redis-server that works in one folder: its
 * configuration, its start, and its end.  All names in the folder are
 * relative to it, so that the folder's path needs no quoting and Redis'
 * socket no short one.  These functions may block; main thread only.
 */

/* Names in the folder. */
#define PRIVATE_REDIS_SOCKET "redis.sock"
#define PRIVATE_REDIS_LOG "redis.log"

/* Writes the folder's redis.conf; false: errno says why. */
bool private_redis_configure(const char *folder);

/*
 * Starts it; its process id, or -1 with errno.  It gets SIGTERM when this
 * thread's process ends, however that ends.
 */
pid_t private_redis_spawn(const char *folder);

/* True where that process is a redis-server that works in the folder. */
bool private_redis_is(pid_t pid, const char *folder);

/* The process that the folder's pid file names, if it is one; else 0. */
pid_t private_redis_find(const char *folder);

/*
 * Ends a process, politely for ten seconds, and waits until it is gone.  A
 * child is reaped.
 */
void private_redis_end(pid_t pid, const char *folder, bool is_child);

enum private_redis_answer {
	PRIVATE_REDIS_READY,
	PRIVATE_REDIS_LOADING, /* it answers, and still reads its file */
	PRIVATE_REDIS_SILENT,
};
/* Asks at its socket whether it is ready; takes a second at most. */
enum private_redis_answer private_redis_ask(const char *socket);
