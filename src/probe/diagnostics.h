/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "probe/diagnostics_server.h"

/*
 * A look at the Redis that a configuration names, from outside of any
 * gateway, for `doctor`: what it says of itself, what we may do there, and
 * what lies there.  It changes nothing.  It does not judge.  It blocks, for
 * store.timeout with each question; any thread that may.
 */
/*
 * How many there are, 1 or more: the masters of a cluster that have our
 * shards, or the one Redis; each is cleared, and then the list is freed.
 */
size_t diagnostics_run(
    const struct conf *conf, struct diagnostics **ret_seen);
/* Frees what it holds. */
void diagnostics_clear(struct diagnostics *seen);
