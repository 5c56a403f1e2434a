/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/probe/diagnostics_server.h"

/*
 * Examines the Redis that a configuration names, from outside of any gateway,
 * for `doctor`: what it says of itself, what our user may do there, and what is
 * stored there.  It changes nothing, and does not judge.  It blocks, up to
 * store.timeout with each question; any thread that may.
 */
/*
 * Examines the one Redis, or all masters of a cluster that have our shards: how
 * many, at least 1.  The caller clears each, and frees the list.
 */
size_t diagnostics_run(
    const struct conf *conf, struct diagnostics **ret_seen);
/* Frees what it holds. */
void diagnostics_clear(struct diagnostics *seen);
