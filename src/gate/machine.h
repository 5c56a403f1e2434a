/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/list.h"
#include "base/loop/op.h"
#include "base/span.h"

/*
 * A machine is whatever goes step by step: a request, an execution, a delivery
 * (tbl/steps.h), or a request to the admin interface (tbl/admin_steps.h).  It
 * is driven here, where nothing is known of what the steps do.  It stands in
 * exactly one step, and in its owner's list from its beginning to its end:
 * drain and gauges walk that list, and there is no other bookkeeping.  The
 * owner's thread only.
 */

/* A step's answer when it returns. */
enum after {
	MORE, /* the machine was moved to a step that can run now */
	WAIT, /* it was moved to a step that an operation will wake */
	DONE, /* the machine is at its end and is freed */
};

struct machine;

struct machine_step {
	const char *name;
	enum after (*run)(struct machine *machine);
	bool waits; /* an operation wakes the machine into it */
};

struct machine_kind {
	const char *name;
	const struct machine_step *steps;
	/* Returns the operation that wakes the machine's step, or NULL. */
	struct op *(*awaited)(struct machine *machine);
	void (*free)(struct machine *machine);
	/* Nobody who runs it looks at it afterwards: see machine_run(). */
	bool runs_on;
};

/* The machines of one owner that have not ended. */
struct machines {
	struct list list;  /* of their item; the newest first */
	atomic_uint count; /* other threads may read it */
};

/* A member of its kind's struct (CONTAINER_OF). */
struct machine {
	const struct machine_kind *kind;
	struct machines *all;
	struct list item; /* of all's list */
	uint8_t step;
	char id[33]; /* of the request, or key_id, for the debug log */
};

/* Puts it into its owner's list, at its first step; it does not run yet. */
void machine_init(struct machine *machine, const struct machine_kind *kind,
    struct machines *all);
/* Sets the id, cut where it is too long. */
void machine_name(struct machine *machine, struct span id);
/* Moves it to a step: the one way to do so. */
void machine_to(struct machine *machine, unsigned step);
/*
 * The wake of its operations: runs a struct machine until it waits or ends.
 * One that runs on does not wait for what is over already, such as for a body
 * that has come with its head.
 */
void machine_run(void *machine);
/* Takes it off its list and frees it, wherever it stands. */
void machine_end(struct machine *machine);
