/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

/*
 * A part of a worker is what a room above gate/ does in the worker's thread,
 * such as reading messages.  The worker tells its parts what happens to it, by
 * this table, and waits for them when it drains; it knows nothing else of them.
 * Each part is freed by its own kind.  The worker's thread only, but for
 * begin and free.
 */
struct generation;
struct worker;
struct worker_part;

struct worker_part_kind {
	const char *name;
	/*
	 * A new part of that worker, all of which is ready but for the loop,
	 * which does not run yet; NULL: this worker needs none.  The main
	 * thread, before the worker's begins.
	 */
	struct worker_part *(*begin)(struct worker *worker);
	/*
	 * That is the worker's generation from now on; what has begun ends
	 * under its own.  Also while the worker drains.
	 */
	void (*reload)(
	    struct worker_part *part, struct generation *generation);
	/* Once: nothing new is begun from now on; what has begun ends. */
	void (*drain)(struct worker_part *part);
	/*
	 * Once, after drain: drain_timeout is over.  Whatever still waits is
	 * given up; executions are ended by the worker, after this.
	 */
	void (*over)(struct worker_part *part);
	/*
	 * Nothing of it is in flight, nor on its way to Redis or a broker: the
	 * worker may end.  Asked in each turn of the loop while it drains.
	 */
	bool (*is_idle)(const struct worker_part *part);
	/*
	 * The worker ends, and its loop has stopped: lets go of executions,
	 * which end after this.  Also where it is not idle.
	 */
	void (*end)(struct worker_part *part);
	/* Nobody reads it any more.  The main thread, after end. */
	void (*free)(struct worker_part *part);
};

/* The first member of a part of any kind; begin sets kind and nothing else. */
struct worker_part {
	const struct worker_part_kind *kind;
	struct worker_part *next; /* in the order of their kinds */
};
