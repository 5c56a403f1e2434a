/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/digest.h"
#include "base/loop/op.h"

/*
 * Lanes: messages of one order go one after the other, as they were taken,
 * beside those of others.  It knows an order as a hash, and nothing of
 * messages.  One source's, on its worker's thread.
 */
struct lane;
struct lanes;

/* A message's place in its lane, a member of its delivery; zeroed: none. */
struct lane_place {
	struct op turn; /* done: it is the first now */
	struct lane *lane;
	struct lane_place *next;
	struct lane_place *before;
};

struct lanes *lanes_new(void);
/* No lane has a place any more; nulls the pointer, accepts NULL. */
void lanes_free(struct lanes **lanes);

/* At the end of its lane, which is made if there is none. */
void lanes_enter(struct lanes *lanes, const uint8_t order[DIGEST_BYTES],
    struct lane_place *place);
/* Always allowed.  The next one's turn is done, if it waits for that. */
void lanes_leave(struct lanes *lanes, struct lane_place *place);

/* Whether nobody is before it; one without a lane is always first. */
bool lanes_is_first(const struct lane_place *place);
/* Waits for its turn: place->turn, which op_init has prepared. */
void lanes_wait(struct lane_place *place);

/* The first of its lane says whether it rests, to be tried again later. */
void lanes_rest(struct lane_place *place, bool rests);
/* Whether the first one of its lane rests. */
bool lanes_rests(const struct lane_place *place);
/* How many have a place in its lane, itself included; 1 without a lane. */
unsigned lanes_length(const struct lane_place *place);
