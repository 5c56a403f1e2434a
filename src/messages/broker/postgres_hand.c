/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "messages/broker/postgres_hand.h"

enum { BUCKETS_FIRST = 256 };

/* FNV-1a: rows are not chosen to collide by who could not just fill a table. */
static uint32_t
hash_of(struct span position)
{
	uint32_t hash = 2166136261u;
	for (size_t i = 0; i < position.len; i++)
		hash = (hash ^ (uint8_t)position.ptr[i]) * 16777619u;
	return hash ^ hash >> 15;
}

static struct postgres_row **
hash_bucket(const struct postgres_hand *hand, struct span position)
{
	return &hand->buckets[hash_of(position) & (hand->n_buckets - 1)];
}

struct postgres_row *
postgres_hand_find(const struct postgres_hand *hand, struct span position)
{
	if (hand->n_buckets == 0)
		return NULL;
	struct postgres_row *row = *hash_bucket(hand, position);
	while (row != NULL && !span_eq(row->position, position))
		row = row->same_hash;
	return row;
}

static void
widen(struct postgres_hand *hand)
{
	hand->n_buckets = hand->n_buckets ? 2 * hand->n_buckets :
					    BUCKETS_FIRST;
	free(hand->buckets);
	hand->buckets = mem_zero(hand->n_buckets * sizeof *hand->buckets);
	struct postgres_row *row = hand->oldest;
	for (; row != NULL; row = row->after) {
		struct postgres_row **to = hash_bucket(hand, row->position);
		row->same_hash = *to;
		*to = row;
	}
}

void
postgres_hand_add(struct postgres_hand *hand, const struct postgres_row *like)
{
	if (hand->count >= hand->n_buckets)
		widen(hand);
	struct postgres_row *row =
	    mem_zero(sizeof *row + like->position.len + 1);
	*row = *like;
	char *copy = (char *)(row + 1);
	if (like->position.len > 0)
		memcpy(copy, like->position.ptr, like->position.len);
	row->position = span_of(copy, like->position.len);
	struct postgres_row **to = hash_bucket(hand, row->position);
	row->same_hash = *to;
	*to = row;
	row->before = hand->newest;
	row->after = NULL;
	*(hand->newest ? &hand->newest->after : &hand->oldest) = row;
	hand->newest = row;
	hand->count++;
	hand->count_no_order += row->no_order;
	hand->of_part[row->part]++;
}

void
postgres_hand_remove(struct postgres_hand *hand, struct postgres_row *row)
{
	struct postgres_row **at = hash_bucket(hand, row->position);
	while (*at != row)
		at = &(*at)->same_hash;
	*at = row->same_hash;
	*(row->before ? &row->before->after : &hand->oldest) = row->after;
	*(row->after ? &row->after->before : &hand->newest) = row->before;
	hand->count--;
	hand->count_no_order -= row->no_order;
	hand->of_part[row->part]--;
	free(row);
}

void
postgres_hand_disown(struct postgres_hand *hand)
{
	struct postgres_row *row = hand->oldest;
	for (; row != NULL; row = row->after)
		row->disowned = true;
}

void
postgres_hand_clear(struct postgres_hand *hand)
{
	while (hand->oldest != NULL)
		postgres_hand_remove(hand, hand->oldest);
	free(hand->buckets);
	*hand = (struct postgres_hand){0};
}
