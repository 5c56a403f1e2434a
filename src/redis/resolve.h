/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "loop/loop.h"

/*
 * The address of a host's name, looked up by a thread of its own:
 * getaddrinfo blocks, for seconds where a name server does not answer, and
 * the loop must not.  The thread knows nothing of the loop; it writes into
 * memory that both count, and to a descriptor that the loop watches.
 */
struct resolve_lookup;

/*
 * Calls done with a numeric address, valid for the call only, or NULL where
 * there is none; the lookup is gone then.  Never called from within here.
 */
struct resolve_lookup *resolve_start(struct loop *loop, const char *host,
    void (*done)(void *arg, const char *address), void *arg);
/* Nothing is called any more; nulls the pointer, accepts NULL. */
void resolve_cancel(struct resolve_lookup **lookup);
