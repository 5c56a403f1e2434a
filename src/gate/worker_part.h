/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

/*
 * A room above gate/ that has work in the worker's thread, such as reading
 * messages, is a part of the worker.  The worker tells its parts by this table
 * what happens to it, and waits for them when it drains; it knows nothing else
 * of them.  Each part is freed by its own kind.  The worker's thread only, but
 * for begin and free.
 */
struct generation;
struct worker;
struct worker_part;

struct worker_part_kind {
	/*
	 * Makes a part of that worker, all of which is ready but for the loop,
	 * which does not run yet; NULL: this worker needs none.  The main
	 * thread, before the worker's begins.
	 */
	struct worker_part *(*begin)(struct worker *worker);
	/*
	 * Called when that is the worker's generation from now on, also while
	 * the worker drains; what has begun ends under its own.
	 */
	void (*reload)(
	    struct worker_part *part, struct generation *generation);
	/* Called once: nothing new is begun any more; what has begun ends. */
	void (*drain)(struct worker_part *part);
	/*
	 * Called once, after drain, when drain_timeout is over: gives up all
	 * that still waits; the worker ends executions after this.  Or NULL.
	 */
	void (*over)(struct worker_part *part);
	/*
	 * True where nothing of it is in flight, nor on its way to Redis or a
	 * broker, so that the worker may end.  Called in each turn of the loop
	 * while it drains.
	 */
	bool (*is_idle)(const struct worker_part *part);
	/*
	 * Called when the worker ends, and its loop has stopped, also where it
	 * is not idle: lets go of executions, which end after this.
	 */
	void (*end)(struct worker_part *part);
	/* Called when nobody reads it any more.  The main thread, after end. */
	void (*free)(struct worker_part *part);
};

/* The first member of a part of any kind; begin sets kind and nothing else. */
struct worker_part {
	const struct worker_part_kind *kind;
	struct worker_part *next; /* in the order of their kinds */
};
