/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "messages/source/lanes.h"

void
lanes_enter(struct lanes *lanes, const uint8_t order[DIGEST_BYTES],
    struct lane_place *place)
{
	struct lane *lane;
	HASH_EACH_OF(lane, &lanes->lanes, hash_of_digest(order), item)
		if (!memcmp(lane->order, order, DIGEST_BYTES)) {
			place->lane = lane;
			break;
		}
	if (place->lane == NULL) {
		place->lane = lane = mem_zero(sizeof *lane);
		memcpy(lane->order, order, DIGEST_BYTES);
		list_init(&lane->places);
		hash_add(
		    &lanes->lanes, &lane->item, hash_of_digest(order));
	}
	list_add_last(&place->lane->places, &place->item);
	place->lane->length++;
}

void
lanes_leave(struct lanes *lanes, struct lane_place *place)
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
		hash_remove(&lanes->lanes, &lane->item);
		free(lane);
	} else if (was_first) {
		lane->rests = false;
		if (op_pending(&first->turn))
			op_done(&first->turn, 0);
	}
}

void
lanes_free(struct lanes *lanes)
{
	must(lanes->lanes.count == 0);
	hash_free(&lanes->lanes);
}
