/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/*
 * The rows that a reader of a table has handed over and that are not finished:
 * found by their position, and in the order in which they were taken.  It knows
 * no SQL.  Ten thousand of them are usual.  The loop's own thread.
 */
enum { POSTGRES_PARTS = 32, POSTGRES_VERSION_BYTES = 36 };

struct postgres_row {
	struct postgres_row *same_hash;
	struct postgres_row *before, *after; /* in the order of taking */
	uint64_t take;    /* number of the take that brought it */
	uint64_t session; /* 0: somebody else may finish it by now */
	uint32_t part;
	bool no_order; /* its column of the order is null */
	bool disowned; /* the ids of the table are of another type by now */
	unsigned locked; /* how often somebody else had locked it */
	char version[POSTGRES_VERSION_BYTES]; /* "": it has none */
	struct span position;
};

struct postgres_hand {
	struct postgres_row **buckets;
	uint32_t n_buckets; /* a power of 2; 0: not used yet */
	uint32_t count;
	uint32_t count_no_order;
	uint32_t of_part[POSTGRES_PARTS];
	struct postgres_row *oldest, *newest;
};

/* NULL: it is not in hand. */
struct postgres_row *postgres_hand_find(
    const struct postgres_hand *hand, struct span position);
/* A row that is not in hand; like is copied, its position too. */
void postgres_hand_add(
    struct postgres_hand *hand, const struct postgres_row *like);
/* Removes and frees it. */
void postgres_hand_remove(
    struct postgres_hand *hand, struct postgres_row *row);
/* None of them is a row of the table any more. */
void postgres_hand_disown(struct postgres_hand *hand);
/* Removes all. */
void postgres_hand_clear(struct postgres_hand *hand);
