/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/execution.h"

/*
 * The inside of an execution: its steps, which execution_upstream.c (the upstream's
 * side) and execution_store.c (the store's side) share.  For these two only;
 * the worker's thread.
 */
enum execution_step {
#define EXECUTION_STEP(name, function, operation) EXECUTION_##name,
#include "tbl/steps.h"
	EXECUTION_STEPS_,
};
_Static_assert(
    (int)EXECUTION_STEPS_ <= (int)MACHINE_STEPS_MAX, "too many steps");

#define EXECUTION_STEP(name, function, operation)                             \
	enum after function(struct machine *machine);
#include "tbl/steps.h"

extern const struct machine_step execution_steps[];

static inline enum after
go(struct execution *e, enum execution_step step, enum after after)
{
	machine_to(&e->machine, step);
	return after;
}
