/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/loop.h"
#include "conf/conf.h"

/*
 * The managed store: a private redis-server under state_dir on a Unix socket,
 * append-only file synced at each write, no eviction.  It is started before the
 * workers, started again when it dies, and ends with the gateway, however the
 * gateway ends (PR_SET_PDEATHSIG); one that an earlier gateway left behind is
 * ended first.  It knows nothing of what is stored there: workers reach it by a
 * link, as any other Redis.  Starting and ending block; main thread only.
 */
struct managed;

/*
 * Starts it and waits, at most 30 s, until it answers.  NULL, with a sentence
 * in *ret_message that the caller frees, where it does not.
 */
struct managed *managed_start(
    struct loop *loop, const struct conf *conf, char **ret_message);
/*
 * Ends it (SIGTERM), waits until it is gone, nulls the pointer; accepts NULL.
 */
void managed_stop(struct managed **managed);
/* After SIGCHLD: reaps it, and starts it again where it died; accepts NULL. */
void managed_reap(struct managed *managed);
/* The path of its socket, from the configuration alone; caller frees. */
char *managed_socket(const struct conf *conf);
