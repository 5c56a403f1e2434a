/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/source/source.h"

/*
 * Dead letters of a source that are brought back.  What is parked in a lane
 * comes back one after the other, each when the one before it is done with;
 * what is taken of that lane meanwhile follows behind, since the lane stays
 * parked until it is empty.  Redis knows what was decided, so whoever reads the
 * source next goes on with it.  The worker's thread only.
 */
struct inquiry;

/*
 * The first of that parked lane, at that position, is to come back, or to be
 * dropped; nothing happens where that is under way.
 */
void source_letters_bring(struct source *source,
    const struct parked_lane *lane, struct span position, bool drop);
/* That position of a parked lane is done with: the next one comes back. */
void source_letters_next(struct source *source,
    const struct parked_lane *lane, struct span position);
/*
 * That position, which was parked as the first of its lane, may have become no
 * dead letter: if so, it is done with.
 */
void source_letters_check(struct source *source,
    const struct parked_lane *lane, struct span position);
/* Others are parked behind that position, which nobody has any more. */
void source_letters_tell_gone(const struct source *source,
    struct span position);
/*
 * An operator asks for a page of dead letters, or something of one of them; the
 * inquiry goes on when that is known.
 */
void source_letters_inquire(struct source *source, struct inquiry *inquiry);
/* Gives all up, as where the turn is lost; inquiries go on. */
void source_letters_stop(struct source *source);
