/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/loop.h"

/*
 * Looks up the address of a host's name on a thread of its own: getaddrinfo
 * blocks, for seconds where a name server does not answer, and the loop must
 * not.  That thread knows nothing of the loop: it writes into memory that both
 * hold a reference to, and to a descriptor that the loop watches.  All
 * functions on the loop's thread.
 */
struct resolve_lookup;

/*
 * Calls done with a numeric address, valid during the call only, or NULL where
 * there is none; the lookup is freed then.  Never from within this function.
 */
struct resolve_lookup *resolve_start(struct loop *loop, const char *host,
    void (*done)(void *arg, const char *address), void *arg);
/* done is not called any more; frees, nulls the pointer, accepts NULL. */
void resolve_cancel(struct resolve_lookup **lookup);
