/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "messages/source/lanes.h"

enum { LANE_BUCKETS = 1024 };

struct lane {
	struct lane *next; /* of its bucket */
	uint8_t order[DIGEST_BYTES];
	struct lane_place *first;
	struct lane_place *last;
	unsigned length;
	bool rests;
};

struct lanes {
	struct lane *buckets[LANE_BUCKETS];
};

struct lanes *
lanes_new(void)
{
	return mem_zero(sizeof(struct lanes));
}

void
lanes_free(struct lanes **lanes)
{
	struct lanes *l = *lanes;
	*lanes = NULL;
	if (l == NULL)
		return;
	for (size_t i = 0; i < LANE_BUCKETS; i++)
		must(l->buckets[i] == NULL);
	free(l);
}

/* What points to the lane of that order, or to the end of its bucket. */
static struct lane **
lane_of(struct lanes *lanes, const uint8_t order[DIGEST_BYTES])
{
	size_t bucket = (order[0] | (size_t)order[1] << 8) % LANE_BUCKETS;
	struct lane **at = &lanes->buckets[bucket];
	while (*at != NULL && memcmp((*at)->order, order, DIGEST_BYTES) != 0)
		at = &(*at)->next;
	return at;
}

void
lanes_enter(struct lanes *lanes, const uint8_t order[DIGEST_BYTES],
    struct lane_place *place)
{
	struct lane **at = lane_of(lanes, order);
	if (*at == NULL) {
		*at = mem_zero(sizeof **at);
		memcpy((*at)->order, order, DIGEST_BYTES);
	}
	struct lane *lane = *at;
	place->lane = lane;
	place->next = NULL;
	place->before = lane->last;
	if (lane->last != NULL)
		lane->last->next = place;
	else
		lane->first = place;
	lane->last = place;
	lane->length++;
}

static void
unlink_place(struct lane *lane, struct lane_place *place)
{
	if (place->before != NULL)
		place->before->next = place->next;
	else
		lane->first = place->next;
	if (place->next != NULL)
		place->next->before = place->before;
	else
		lane->last = place->before;
	lane->length--;
}

void
lanes_leave(struct lanes *lanes, struct lane_place *place)
{
	struct lane *lane = place->lane;
	op_cancel(&place->turn);
	place->lane = NULL;
	if (lane == NULL)
		return;
	bool was_first = lane->first == place;
	unlink_place(lane, place);
	if (lane->first == NULL) {
		struct lane **at = lane_of(lanes, lane->order);
		*at = lane->next;
		free(lane);
		return;
	}
	if (!was_first)
		return;
	lane->rests = false;
	if (op_pending(&lane->first->turn))
		op_done(&lane->first->turn, 0);
}

bool
lanes_is_first(const struct lane_place *place)
{
	return place->lane == NULL || place->lane->first == place;
}

void
lanes_wait(struct lane_place *place)
{
	op_start(&place->turn, 0, NULL);
}

void
lanes_rest(struct lane_place *place, bool rests)
{
	if (place->lane != NULL)
		place->lane->rests = rests;
}

bool
lanes_rests(const struct lane_place *place)
{
	return place->lane != NULL && place->lane->rests;
}

unsigned
lanes_length(const struct lane_place *place)
{
	return place->lane != NULL ? place->lane->length : 1;
}
