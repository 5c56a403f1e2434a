/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/source/source.h"

/*
 * Why a source stands still, while something is in the way that no message is
 * to blame for: nothing is counted then, and what has not been claimed waits.
 * One delivery at a time tries for all.
 * The worker's thread only.
 */
/* Whether nobody else reads it while this gateway does. */
bool source_standing_has_one_reader(const struct source *source);
/*
 * Whether what it has taken may be begun: others may read it too, or it has the
 * leadership at this moment, whatever the loop has come to.
 */
bool source_standing_lets_begin(const struct source *source);
/*
 * Whether a delivery may go on to claim, or to be acknowledged, despite what it
 * may stand still for (bits): STANDING_DEAD_LETTERS does not keep letters from
 * being replayed, by which they become fewer.
 */
bool source_standing_goes(const struct source *source, unsigned despite);
/* It stands still from now on; why, a sentence, is for operators. */
void source_standing_begin(
    struct source *source, enum standing standing, const char *why);
/* That is no longer in the way. */
void source_standing_end(struct source *source, enum standing standing);
/* Those go on that have waited longest; how many, which is most at most. */
unsigned source_standing_let_go(struct source *source, unsigned most);
/* If it tried for all others, it does not any more. */
void source_standing_tried(struct source *source, struct standing_place *place);
/*
 * It waits and tries no more, its op is cancelled next; always allowed.  Where
 * it tried, and found nothing out, the next one does now.
 */
void source_standing_leave(struct source *source, struct standing_place *place);
/*
 * A message is about to be executed: whether the attempt counts, where the API
 * releases it.  It does where another message was executed since its last one.
 */
bool source_standing_attempt_counts(
    const struct source *source, struct source_refusals *refusals);
/*
 * It was released, or has no outcome and is tried again, with that status; 0:
 * without one.
 */
void source_standing_refused_by_api(
    struct source *source, struct source_refusals *refusals, int status);
/* Something was sent: UPSTREAM stands for refusals alone. */
void source_standing_sent(struct source *source);
/* It was executed: attempts of others count then, and not its own. */
void source_standing_executed(
    struct source *source, struct source_refusals *refusals);

/* Whose fault it is that a finish is not taken; buried: of a letter's. */
enum standing source_standing_of_finish(
    const struct broker_finish *finish, bool buried);
/* Of its pause: it is known, or another one; arg is the source. */
void source_standing_paused(void *arg);
/* Each second: whether Redis says what gateways share is looked at. */
void source_standing_look(struct source *source);

/*
 * Its probe is due: who has waited longest is let go, or the standing is over.
 * retries: a message is about to be tried again, and finishes: one is being
 * acknowledged, either of which will find out.
 */
void source_standing_probe(
    struct source *source, bool retries, bool finishes);

/* The most pressing reason to stand, for operators; NULLs: it goes. */
struct standing_text {
	const char *word, *sentence;
};
struct standing_text source_standing_text(unsigned standing);
