/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/container.h"
#include "messages/source/delivery.h"

/*
 * What the steps of a delivery share.  They are in delivery_shape.c (a request
 * is made), delivery_lane.c (its turn), delivery_first.c (whether the first of
 * its lane is there), delivery_claim.c (its key), delivery_rest.c (until it is
 * tried again), delivery_memory.c (without its bytes), delivery_letter.c (a
 * dead letter that comes back) and delivery_finish.c (its end); delivery.c has
 * the table of all.  For these files only; the worker's thread.
 */
enum delivery_step {
#define DELIVERY_STEP(name, function, operation) DELIVERY_##name,
#include "tbl/steps.h"
	DELIVERY_STEPS_,
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

/* It is a dead letter's. */
static inline bool
delivery_is_letter(const struct delivery *d)
{
	return d->message->letter.len > 0;
}
/* Its lane is parked where its first becomes a dead letter. */
bool delivery_lane_parks(const struct delivery *d);
/* It is held no more, and Redis hears of that. */
void delivery_rest_held_no_more(struct delivery *d);
/* It was found COMPLETED before: it ends as a duplicate. */
enum after delivery_claim_known(struct delivery *d);
/* An operator who waits hears that it goes on. */
void delivery_letter_begun(struct delivery *d);
/* It is tried again, and may have been dropped meanwhile, by others. */
bool delivery_letter_must_confirm(const struct delivery *d);
/* The dead letter stays as it is; an operator hears why, a word. */
enum after delivery_letter_refuse(struct delivery *d, const char *why);
/*
 * The broker refuses its end, or what is put with that, and no other's: it is
 * held; a dead letter that came back stays what it was.
 */
enum after delivery_rest_rejected(struct delivery *d);
/* Redis has said what is parked in the letter's lane. */
enum after delivery_letter_placed(struct delivery *d);
/* The letter goes on from its turn; it is dropped, or executed. */
enum after delivery_letter_go(struct delivery *d);
/* It is behind another one: it is dropped, or stays as it is. */
enum after delivery_letter_stays(struct delivery *d);
/*
 * Looks for the dead letters of that position, and whether the message itself
 * is still to be finished (look), by d->first.
 */
void delivery_first_look(
    struct delivery *d, struct span position, bool look);
/* Whether there was one, which is freed. */
bool delivery_first_found(struct broker_letters *letters);
/*
 * Whether the first of the lane is to be looked for, before what Redis says of
 * it is believed.
 */
bool delivery_first_must_prove(const struct delivery *d);
/* The first of its lane becomes a dead letter now. */
void delivery_first_seen(struct delivery *d);
/* It is freed: gives up what it looks for. */
void delivery_first_end(struct delivery *d);
/* What is the first of its lane is as certain as it is going to be. */
enum after delivery_lane_proved(struct delivery *d);
/* It has ended: what is parked behind it comes back. */
void delivery_letter_over(struct delivery *d);

/* Forgets the request: another try makes it anew. */
void delivery_unshape(struct delivery *d);
/* The same, but it listens on. */
void delivery_forget_request(struct delivery *d);

/*
 * It rests for long: its bytes go back to the budget, where they can be read
 * again; its request too.  It listens on, if it does.
 */
void delivery_memory_shed(struct delivery *d);
/* It is held: what it is held by is remembered, and its bytes go back. */
void delivery_memory_hold(struct delivery *d);
/*
 * Whether it can be held on for what its record says alone, without its bytes.
 */
bool delivery_memory_may_peek(const struct delivery *d);
/* No memory for it: it waits with nothing in its hands. */
enum after delivery_memory_await(struct delivery *d);
/* Whatever it has of the budget goes back. */
void delivery_memory_end(struct delivery *d);
/* If it tried for all others, it does not any more. */
void delivery_probed(struct delivery *d);
/* Counts it. */
void delivery_count(struct delivery *d, enum message_outcome outcome);
/* It is to become a dead letter, for that reason. */
void delivery_condemn(struct delivery *d, enum message_outcome reason,
    struct span detail);
