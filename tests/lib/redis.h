/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <hiredis/hiredis.h>
#include <sys/types.h>

#include "lib/folder.h"

/*
 * A real redis-server for tests, on a Unix socket in a folder of its own.  It
 * ends with the test program, however that ends.  A failure here ends the test
 * program.
 */
struct redis {
	char folder[FOLDER_MAX];
	char socket[FOLDER_MAX + 16];
	pid_t pid;
	const char *const *options; /* for the command line, NULL at the end */
	redisContext *client;       /* a connection for the test itself */
};

/* Starts one and waits until it answers; options may be NULL. */
struct redis *redis_start(const char *const *options);
/* Ends it, removes its folder, nulls the pointer; accepts NULL. */
void redis_stop(struct redis **redis);

void redis_freeze(struct redis *redis);
void redis_thaw(struct redis *redis);
/* SIGKILL, and waits until it is gone. */
void redis_kill(struct redis *redis);
/* Starts it again after redis_kill, on what it has on disk. */
void redis_again(struct redis *redis);

/* Another connection, blocking; the caller frees it. */
redisContext *redis_connect(const struct redis *redis);
/* Runs a command on the test's connection; the caller frees the reply. */
redisReply *redis_do(struct redis *redis, const char *fmt, ...);
/* The same; the integer of the reply. */
long long redis_integer(struct redis *redis, const char *fmt, ...);
/* The same; the reply is dropped. */
void redis_just(struct redis *redis, const char *fmt, ...);
