/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"
#include "loop/loop.h"

/*
 * The Sentinels of store.sentinels, asked by one thread for all stores of the
 * process: each of them all the time, because one that was cut off from the
 * others names an old master in good faith.  A word of +switch-master only
 * makes it ask sooner.  What they say together (sentinel.h) is told to the
 * links that follow the master (master.h); this one knows nothing of those.
 */
struct master;
struct sentinels;

/*
 * Begins to ask, on the loop of the calling thread; conf names Sentinels.  What
 * they say is told to that master, which outlives it.
 */
struct sentinels *sentinels_new(struct loop *loop, const struct conf *conf,
    struct master *master);
/* Nulls the caller's pointer, accepts NULL. */
void sentinels_free(struct sentinels **sentinels);
