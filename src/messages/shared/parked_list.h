/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/digest.h"
#include "messages/shared/shared.h"

/*
 * Parked lanes in pages, the oldest first, as Redis has them (lua/parked.lua).
 * It knows no copy.  The store's thread.
 */
enum { PARKED_PLACE_CHARS = 13 + DIGEST_HEX };

struct parked_entry {
	uint8_t lane[DIGEST_BYTES];
	int64_t since_ms; /* its first was parked then, by Redis' clock */
	int64_t count;
	struct span first; /* position */
	struct span decided; /* of it: "back", "drop", or "": nothing */
	struct span place; /* after which the next page goes on */
};

/* A call for a page of limit lanes after that place ("": from the start). */
struct store_call *parked_list_call(
    const struct shared *shared, struct span after, size_t limit);
/* How many entries a page has. */
size_t parked_list_count(const struct call_reply *reply);
/* Reads entry i of a page; false: it is malformed. */
MUST_USE bool parked_list_read(const struct call_reply *reply, size_t i,
    struct parked_entry *ret_entry, char ret_place[PARKED_PLACE_CHARS + 1]);
/* Whether the text is a place. */
bool parked_list_is_place(struct span place);

/* For operators; errors as in store/store.h.  The verdict is DONE. */
struct parked_list {
	struct store_op op;
	struct arena *arena; /* set by the owner, kept while it is pending */
	struct parked_entry *entries;
	size_t count;
	size_t limit; /* the page; there may be more where count is that */
};
/* after: a place, or "". */
void parked_list(struct parked_list *list, const struct shared *shared,
    struct span after, size_t limit);
