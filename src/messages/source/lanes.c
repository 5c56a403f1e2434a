/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "messages/source/lanes.h"

void
lanes_enter(struct hash *lanes, const uint8_t order[DIGEST_BYTES],
    struct lane_place *place)
{
	struct lane *lane;
	HASH_EACH_OF(lane, lanes, hash_of_digest(order), item)
		if (!memcmp(lane->order, order, DIGEST_BYTES)) {
			place->lane = lane;
			break;
		}
	if (place->lane == NULL) {
		place->lane = lane = mem_zero(sizeof *lane);
		memcpy(lane->order, order, DIGEST_BYTES);
		list_init(&lane->places);
		hash_add(lanes, &lane->item, hash_of_digest(order));
	}
	list_add_last(&place->lane->places, &place->item);
	place->lane->length++;
}

void
lanes_leave(struct hash *lanes, struct lane_place *place)
{
	struct lane *lane = place->lane;
	bool was_first = lanes_is_first(place);
	op_cancel(&place->turn);
	place->lane = NULL;
	if (lane == NULL)
		return;
	list_remove(&place->item);
	lane->length--;
	struct lane_place *first =
	    LIST_FIRST(&lane->places, struct lane_place, item);
	if (first == NULL) {
		hash_remove(lanes, &lane->item);
		free(lane);
	} else if (was_first) {
		lane->rests = false;
		if (first->turn.state == OP_PENDING)
			op_done(&first->turn, 0);
	}
}
