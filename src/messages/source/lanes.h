/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/digest.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/loop/op.h"

/*
 * Lanes: messages of one order go one after the other, as they were taken,
 * beside those of others.  It knows an order as a hash, and nothing of
 * messages.  One source has them in a hash, which is empty when its last
 * message has left; on its worker's thread.
 */
struct lane {
	struct hash_item item;
	uint8_t order[DIGEST_BYTES];
	struct list places; /* in their order */
	unsigned length;
	bool rests; /* the first one does, to be tried again later */
};

/* A message's place in its lane, a member of its delivery; zeroed: none. */
struct lane_place {
	struct op turn; /* done: it is the first now */
	struct lane *lane;
	struct list item;
};

/* At the end of its lane, which is made if there is none. */
void lanes_enter(struct hash *lanes, const uint8_t order[DIGEST_BYTES],
    struct lane_place *place);
/* Always allowed.  The next one's turn is done, if it waits for that. */
void lanes_leave(struct hash *lanes, struct lane_place *place);

/* Whether nobody is before it; one without a lane is always first. */
static inline bool
lanes_is_first(const struct lane_place *place)
{
	return place->lane == NULL || place->lane->places.next == &place->item;
}
