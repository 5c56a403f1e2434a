/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/source/delivery.h"

/*
 * What the steps of a delivery share.  They are in delivery.c (a request is
 * made, and its turn comes), delivery_claim.c (its key), delivery_rest.c (until
 * it is tried again), delivery_finish.c (its end) and delivery_replay.c (what
 * is only of a letter's).  For these files only; the worker's thread.
 */
enum delivery_step {
#define DELIVERY_STEP(name, function, operation) DELIVERY_##name,
#include "tbl/steps.h"
};

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

/* One without a message, which does not run yet: at SHAPE. */
struct delivery *delivery_make(
    struct source *source, struct machines *all, struct arena *arena);
/* Forgets the request: another try makes it anew. */
void delivery_unshape(struct delivery *d);
/* What people see of its request outlives it. */
void delivery_note(struct delivery *d);
/* Counts it. */
void delivery_count(struct delivery *d, enum message_outcome outcome);
/* It is to become a letter, or stays one, for that reason. */
void delivery_condemn(struct delivery *d, enum message_outcome reason,
    struct span detail);
/* It goes on with that step after so long; from SHAPE on all is made anew. */
enum after delivery_rest(
    struct delivery *d, int64_t ms, enum delivery_step next);
/*
 * The broker refuses its end, or what is put with that, and no other's: it is
 * held.
 */
enum after delivery_rest_rejected(struct delivery *d);
/* The broker has answered to the end of a letter. */
enum after delivery_replay_finished(struct delivery *d);
