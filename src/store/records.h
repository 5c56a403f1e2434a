/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "store/store.h"

/*
 * The store as the operator sees it: records looked at, listed, and changed
 * on somebody's word.  Each act is one atomic Lua step (src/lua/operate.lua)
 * that decides whether the record's state allows it.  It knows nothing of
 * HTTP.  Operations are those of store.h, and what is said there of errors
 * holds: a changing one that ended in an error may have been done.  The
 * store's own thread only; what a record points to is of the arena that the
 * operation was given, but the answer, which is counted.
 */

enum { OWNER_CHARS = 22 };

struct store_record {
	struct key_id key_id;
	enum record_state state;
	enum reason reason; /* of an UNKNOWN */
	uint32_t attempt;
	struct span route; /* its name; empty where the key is free */
	struct span owner; /* OWNER_CHARS; empty: nobody */
	struct span fingerprint; /* as it stands in the record */
	/* Milliseconds since 1970, on Redis' clock. */
	int64_t created_ms;
	int64_t changed_ms;
	int64_t lease_until_ms;
	int64_t expires_ms; /* 0: never */
};

/*
 * One record.  Verdicts: DONE, with record and, where it is COMPLETED and
 * was asked for whole, op.answer, or else unreadable; GONE; BROKEN; of an act
 * also FENCED, with op.state the state that the record is in.
 */
struct store_look {
	struct store_op op;
	struct arena *arena; /* set by the owner, kept while it is pending */
	struct store_record record;
	/* Why its answer cannot be decrypted, for people; NULL: it can. */
	const char *unreadable;
};

/* whole: with the answer of a COMPLETED record. */
void store_look(struct store *store, struct store_look *look,
    const struct key_id *key_id, bool whole);

enum store_act {
	ACT_RELEASE,  /* UNKNOWN, FAILED: the key is free, tries start anew */
	ACT_COMPLETE, /* UNKNOWN, FAILED: COMPLETED with that answer */
	ACT_DELETE,   /* any state but PROCESSING: forgotten, no record then */
};
struct store_order {
	enum store_act act;
	/* Of the record that is spoken of; 0 and empty: whichever.
	 * ACT_COMPLETE names both: the answer is sealed for them. */
	uint32_t attempt;
	struct span fingerprint;
	int64_t retention_ms; /* how long the record lives on */
	const struct answer *answer; /* ACT_COMPLETE, else NULL */
};
/*
 * DONE: op.state is the state before, record what it is now.  FENCED, with
 * op.state and op.attempt, where the state forbids the act or the record is
 * not the one that is spoken of.
 */
void store_operate(struct store *store, struct store_look *look,
    const struct key_id *key_id, const struct store_order *order);

/*
 * A page of records that are not COMPLETED, in the order of their last
 * change, over all shards.
 */
struct store_list {
	struct store_op op;
	/* Set by the owner: */
	struct arena *arena; /* kept while it is pending */
	bool wanted[STATE_COUNT_];
	size_t limit;         /* 1 or more */
	struct span after;    /* store_list_place() of the last, or empty */
	/* Set at the end: */
	struct store_record *records; /* limit of them, or fewer */
	size_t count;
	bool more; /* there are others behind them */
	/* The store's own: */
	unsigned shard; /* the next to be asked */
};
void store_list(struct store *store, struct store_list *list);

/* Where a page goes on behind this record; PLACE_CHARS and a NUL. */
enum { PLACE_CHARS = 13 + DIGEST_HEX };
void store_list_place(
    const struct store_record *record, char ret_place[PLACE_CHARS + 1]);
/* True of what store_list_place() may have made. */
bool store_list_is_place(struct span place);

/* How many records are in each state but COMPLETED, over all shards. */
struct store_count {
	struct store_op op;
	uint64_t records[STATE_COUNT_];
	unsigned shard; /* the store's own */
};
void store_count(struct store *store, struct store_count *count);
