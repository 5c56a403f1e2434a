/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/source/source.h"

/*
 * How many messages a source may take: in_flight less those at work, none while
 * it stands still.  What rests (held, or to be tried again) does not count, nor
 * does what waits behind it in its lane.  The worker's thread only.
 */

/*
 * A message of so many bytes is taken.  It is charged twice, with the body of
 * its request, which needs no memory of others then: a message that is here can
 * always go on.  False: there is not so much memory now.
 */
MUST_USE bool source_credit_take(struct source *source, size_t bytes);
/*
 * Charges bytes of its messages (delivery.c gives them back); false: there are
 * not so many.
 */
MUST_USE bool source_credit_charge(
    struct source *source, size_t bytes, enum budget_share share);
/* Later in this turn, it is worked out anew … */
static inline void
source_credit_settle(struct source *source)
{
	task_ready(source->worker->loop, &source->settle);
}
/* … once, by that task. */
void source_credit_settled(void *source);

/*
 * Whether one that was tried, and has rested, may go on beside those that are
 * at work: no more than in_flight are.
 */
bool source_credit_has_room(const struct delivery *delivery);
/*
 * It rests from now on, and all of its lane behind it; or it does no more.  One
 * that is not the first of its lane counts as that one does, whatever it does.
 * What is replayed was never taken, and does not count: here, and below.
 */
void source_credit_rest(
    struct source *source, struct delivery *d, bool rests);
/*
 * It is done but for its acknowledgement, which its broker makes of many at a
 * time: others are taken meanwhile, up to SOURCE_FINISHING_MAX.  Or it is at
 * work again.
 */
void source_credit_finish(
    struct source *source, struct delivery *d, bool finishing);
/* Whether something may be put with its broker now. */
bool source_credit_may_replay(const struct source *source);
/* It takes its place in its lane. */
void source_credit_place(struct source *source, struct delivery *d);
/* It is over, and leaves its place; of a replay, what was left may begin. */
void source_credit_end(struct source *source, struct delivery *d);
