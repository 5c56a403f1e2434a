/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "messages/shared/turn.h"

/*
 * What a relay keeps in Redis until it was brought: events, each with the body
 * that it is brought with, so that each try has the same one.  It knows nothing
 * of how they are brought.  The operations are members of their owner; they and
 * their errors are as in store/store.h, and they may be repeated until they are
 * answered.  The store's thread.
 */
struct kept_event {
	struct span id;
	struct span key_id; /* in hex: the record */
	struct span body;   /* of those that were listed: without bytes */
	size_t body_bytes;
	int64_t since_ms; /* by Redis' clock; of those that were listed */
};

struct kept_op {
	struct store_op op;
	struct arena *arena; /* set by the owner, kept while it is pending */
	struct span body;    /* kept_read, DONE */
	struct kept_event *list; /* kept_list, in no order, … */
	size_t count;
	char cursor[24]; /* … and where to go on; "0": that was all */
	bool lists; /* its own */
};

/*
 * DONE, and op.now_ms is since when; or FENCED: it is another's turn.  One that
 * is kept already stays as it is.
 */
void kept_put(const struct shared *shared, struct kept_op *op,
    const struct turn *turn, const struct kept_event *events, size_t count);
/* They were brought, or given up: DONE. */
void kept_drop(const struct shared *shared, struct kept_op *op,
    const struct span *ids, size_t count);
/* DONE with the body in the arena, or GONE. */
void kept_read(const struct shared *shared, struct kept_op *op,
    struct span id, size_t body_bytes);
/*
 * Some of them, from op->cursor on ("0" at first), in the arena; one may come
 * twice.  DONE.
 */
void kept_list(const struct shared *shared, struct kept_op *op);
