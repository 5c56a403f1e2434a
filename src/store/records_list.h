/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/records.h"

/*
 * Lists the records that are not final, page by page, over all shards.  It
 * knows nothing of HTTP.  The store's own thread only; the records, and what
 * they point to, live in the arena that the operation was given.
 */

/* One page, the least recently changed record first. */
struct records_list {
	struct store_op op;
	/* Set by the owner: */
	struct arena *arena; /* must live while it is pending */
	bool wanted[STATE_COUNT_];
	size_t limit;         /* 1 or more */
	struct span after;    /* place of the last record; empty: first page */
	/* Set at the end: */
	struct record_view *records; /* at most limit */
	size_t count;
	bool more; /* more follow */
	/* The store's own: */
	unsigned shard; /* the next to be asked */
};
/* Starts the operation; its errors are those of store.h. */
void records_list(struct store *store, struct records_list *list);

/*
 * The place from which the page after this record goes on: PLACE_CHARS and a
 * NUL.
 */
enum { PLACE_CHARS = 13 + DIGEST_HEX };
void records_list_place(
    const struct record_view *record, char ret_place[PLACE_CHARS + 1]);
/* Whether records_list_place() can have made it. */
bool records_list_is_place(struct span place);
