/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"
#include "loop/loop.h"

/*
 * The managed store: a private redis-server under state_dir on a Unix
 * socket, append-only file synced at each write, no eviction.  It is started
 * before the workers, started again when it dies, and ends with the gateway,
 * however the gateway ends (PR_SET_PDEATHSIG); one that an earlier gateway
 * left is ended first.  Main thread only.
 */
struct managed;

/*
 * Starts it and waits (at most 30 s) until it answers; NULL with a sentence
 * in *ret_message (the caller frees it) when it cannot be.
 */
struct managed *managed_start(
    struct loop *loop, const struct conf *conf, char **ret_message);
/* Ends it politely, waits for it, nulls the pointer; accepts NULL. */
void managed_stop(struct managed **managed);
/* SIGCHLD came: reaps, and starts it again where it died. */
void managed_reap(struct managed *managed);
/* The path of its socket, from the configuration alone; caller frees. */
char *managed_socket(const struct conf *conf);
