/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/log.h"
#include "messages/relay/relay_run.h"

/*
 * What the log, the metrics and operators are told of a relay.  It decides
 * nothing.  The worker's thread only.
 */

/* A line of the log that names the relay. */
struct logline relay_health_log(
    const struct relay_run *run, enum event event);
/* The same, with nothing more. */
void relay_health_say(const struct relay_run *run, enum event event);
/* So many events were not brought, and never will be. */
void relay_health_lost(
    struct relay_run *run, uint64_t count, const char *why);
/* Notices what has changed. */
void relay_health_look(struct relay_run *run);
/* How many events are still to be brought; -1: it is not known here. */
int64_t relay_health_lag(const struct relay_run *run);
