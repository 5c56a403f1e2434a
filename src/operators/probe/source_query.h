/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/probe/source_seen.h"

/*
 * Looks at what a source reads, and at its broker, from outside of any gateway,
 * for `doctor`.  It changes nothing, takes no message, and does not judge.  It
 * blocks, for a few seconds with each question; any thread that may.  The
 * caller clears *ret_seen.
 */
void source_query(
    const struct conf_source *source, struct source_seen *ret_seen);
