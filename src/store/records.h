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

struct record_view {
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
struct records_op {
	struct store_op op;
	struct arena *arena; /* set by the owner, kept while it is pending */
	struct record_view record;
	/* Why its answer cannot be decrypted, for people; NULL: it can. */
	const char *unreadable;
};

/* whole: with the answer of a COMPLETED record. */
void records_show(struct store *store, struct records_op *look,
    const struct key_id *key_id, bool whole);

enum records_act {
	ACT_RELEASE,  /* UNKNOWN, FAILED: the key is free, tries start anew */
	ACT_COMPLETE, /* UNKNOWN, FAILED: COMPLETED with that answer */
	ACT_DELETE,   /* any state but PROCESSING: forgotten, no record then */
};
struct records_order {
	enum records_act act;
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
void records_operate(struct store *store, struct records_op *look,
    const struct key_id *key_id, const struct records_order *order);
