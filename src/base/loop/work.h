/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

struct loop;

/*
 * Work that blocks, such as syncing a file, is done by a thread of libuv's pool
 * while the loop goes on.  It knows nothing of what the work is.  The owner
 * keeps what the other thread uses alive until done was called; the work frees
 * itself.  The loop's own thread, but for run.
 */
struct work;

/*
 * Has another thread run run(arg), and then calls done(arg) on the loop's
 * thread.
 */
struct work *work_start(struct loop *loop, void (*run)(void *arg),
    void (*done)(void *arg), void *arg);
/*
 * Blocks until run has returned, and calls done; nulls the caller's pointer,
 * accepts NULL.  Not after done was called.
 */
void work_finish(struct work **work);
