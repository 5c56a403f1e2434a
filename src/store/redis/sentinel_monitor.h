/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/loop.h"
#include "conf/conf.h"

/*
 * Asks the Sentinels that a configuration names where the master is, on one
 * thread for all stores of the process.  Each is asked all the time, because
 * one that was cut off from the others names an old master in good faith; a
 * message on +switch-master only makes it ask sooner.  It chooses from all
 * their answers (sentinel_protocol.h) and sets the master (master.h).  It knows
 * nothing of the links that follow it.
 */
struct master;
struct sentinel_monitor;

/*
 * Begins to ask, on the calling thread's loop; conf has at least one Sentinel,
 * and master outlives it.
 */
struct sentinel_monitor *sentinel_monitor_new(struct loop *loop,
    const struct conf *conf, const struct conf_redis *redis,
    struct master *master);
/* Stops asking; nulls the caller's pointer, accepts NULL. */
void sentinel_monitor_free(struct sentinel_monitor **sentinels);
