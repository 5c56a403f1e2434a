/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/container.h"
#include "source/delivery.h"

/*
 * What the steps of a delivery share.  They are in delivery_shape.c (a request
 * is made), delivery_lane.c (its turn), delivery_claim.c (its key),
 * delivery_rest.c (until it is tried again) and delivery_finish.c (its end);
 * delivery.c has the table of all.  For these files only; the worker's thread.
 */
enum delivery_step {
#define DELIVERY_STEP(name, function, operation) DELIVERY_##name,
#include "tbl/steps.h"
	DELIVERY_STEPS_,
};
_Static_assert(
    (int)DELIVERY_STEPS_ <= (int)MACHINE_STEPS_MAX, "too many steps");

#define DELIVERY_STEP(name, function, operation)                              \
	enum after function(struct machine *machine);
#include "tbl/steps.h"

/* The next step, and what to return of the one before. */
static inline enum after
delivery_to(struct delivery *d, enum delivery_step step, enum after after)
{
	machine_to(&d->machine, step);
	return after;
}

/* Forgets the request: another try makes it anew. */
void delivery_unshape(struct delivery *d);
/* If it tried for all others, it does not any more. */
void delivery_probed(struct delivery *d);
/* Counts it. */
void delivery_count(struct delivery *d, enum message_outcome outcome);
/* It is to become a dead letter, for that reason. */
void delivery_condemn(struct delivery *d, enum message_outcome reason,
    struct span detail);
