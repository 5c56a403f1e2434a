/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/records.h"

/*
 * Records that are not COMPLETED, page by page, over all shards.  The store's
 * own thread only; what a record points to is of the arena that the operation
 * was given.
 */

/*
 * A page of records that are not COMPLETED, in the order of their last
 * change, over all shards.
 */
struct records_list {
	struct store_op op;
	/* Set by the owner: */
	struct arena *arena; /* kept while it is pending */
	bool wanted[STATE_COUNT_];
	size_t limit;         /* 1 or more */
	struct span after;    /* records_list_place() of the last, or empty */
	/* Set at the end: */
	struct record_view *records; /* limit of them, or fewer */
	size_t count;
	bool more; /* there are others behind them */
	/* The store's own: */
	unsigned shard; /* the next to be asked */
};
void records_list(struct store *store, struct records_list *list);

/* Where a page goes on behind this record; PLACE_CHARS and a NUL. */
enum { PLACE_CHARS = 13 + DIGEST_HEX };
void records_list_place(
    const struct record_view *record, char ret_place[PLACE_CHARS + 1]);
/* True of what records_list_place() may have made. */
bool records_list_is_place(struct span place);
