/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/worker_state.h"

/*
 * A worker is one thread's whole gateway: its loop, front, store, upstream
 * connections, requests and executions.  It shares nothing with other workers
 * but the immutable configuration, the counts of body memory and of clients,
 * what their stores find out about Redis, and which outcomes are undelivered.
 * Only worker_new, worker_post_* and worker_free are called by the main thread,
 * the last one when the worker's thread has ended.
 */

/* A listening socket and the entry of conf->listen that it is served as. */
struct worker_socket {
	int fd;
	size_t entry;
	bool kept; /* other processes have it too */
};

/*
 * Makes all that worker_run needs, which must be called; the sockets are the
 * worker's from now on, and so is the journal.  It has a part of each of the
 * kinds, whose list ends with NULL and outlives it, and may be NULL.
 */
struct worker *worker_new(const struct conf *conf, struct budget *budget,
    struct places *places, struct store_health *health,
    struct journal_awaited *awaited, unsigned index,
    const struct worker_socket *sockets, size_t n_sockets,
    struct journal *journal, const struct worker_part_kind *const *kinds);
void worker_free(struct worker **worker);

/*
 * Whether what has that name, among all of its kind, is that worker's: it is
 * the same one's for as long as it has the name.
 */
bool worker_owns(
    const struct worker *worker, const char *kind, const char *name);

/*
 * The body of the worker's thread: returns when it has drained, and has ended
 * all that it owns but its loop.
 */
void worker_run(struct worker *worker);
/*
 * Has the worker end: it takes no new connections, and what is in flight may
 * last for drain_timeout at most.  Any thread.
 */
void worker_post_drain(struct worker *worker);
/*
 * Has new requests served under that configuration, to which a reference is
 * taken; those that have begun end as they began.  done(arg) is called by the
 * thread of the caller's loop once that is so; or where conf is NULL, once this
 * worker has come round to its messages, which one that hangs never does.  Any
 * thread.
 */
void worker_post_errand(struct worker *worker, const struct conf *conf,
    struct loop *caller, void (*done)(void *arg), void *arg);
