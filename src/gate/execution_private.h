/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/container.h"
#include "gate/execution.h"

/*
 * What the steps of an execution share.  They are in execution_upstream.c and
 * execution_store.c, and execution_new.c has the table of all; for these files
 * only.  The worker's thread.
 */
enum execution_step {
#define EXECUTION_STEP(name, function, operation) EXECUTION_##name,
#include "tbl/steps.h"
	EXECUTION_STEPS_,
};
_Static_assert(
    (int)EXECUTION_STEPS_ <= (int)MACHINE_STEPS_MAX, "too many steps");

/* All steps, in the order of a life; the file is the front of the name. */
#define EXECUTION_STEP(name, function, operation)                             \
	enum after function(struct machine *machine);
#include "tbl/steps.h"

/* The execution that a step is called for. */
static inline struct execution *
execution_of(struct machine *machine)
{
	return CONTAINER_OF(machine, struct execution, machine);
}

/* The next step, and what to return of the one before. */
static inline enum after
execution_to(struct execution *e, enum execution_step step, enum after after)
{
	machine_to(&e->machine, step);
	return after;
}
