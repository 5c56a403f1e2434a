/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "store/journal/journal_entry.h"
#include "store/record/provenance.h"
#include "store/store.h"

/*
 * Records as operators see them: shown, listed, and changed on an operator's
 * word.  Each act is one atomic script (src/store/record/lua/operate.lua) that
 * decides whether the record's state allows it.  It knows nothing of HTTP.
 * Operations and their errors are as in store.h: an act that ended in an error
 * may have been done all the same.  The store's own thread only.  What a record
 * points to lives in the arena that the operation was given; an answer is
 * counted, and the caller unrefs it.
 */

enum { OWNER_CHARS = 22 };

struct record_view {
	struct key_id key_id;
	enum record_state state;
	enum reason reason; /* of an UNKNOWN */
	uint32_t attempt;
	struct provenance from; /* its label as people read it */
	struct span owner; /* OWNER_CHARS; empty: nobody */
	struct span fingerprint; /* as in the record */
	/* Milliseconds since 1970, by Redis' clock. */
	int64_t created_ms;
	int64_t changed_ms;
	int64_t lease_until_ms;
	int64_t expires_ms; /* 0: never */
};

/*
 * One record, shown or changed.  Verdicts: DONE, with record, and where it is
 * COMPLETED and its answer was wanted, with op.answer or unreadable; GONE;
 * BROKEN; of an act also FENCED, with the record's state in op.state.
 */
struct records_op {
	struct store_op op;
	struct arena *arena; /* set by the owner, kept while it is pending */
	struct record_view record;
	/* Why its answer cannot be read, a message; NULL: it can. */
	const char *unreadable;
	bool damaged; /* that is because it makes no sense */
	bool bare; /* the store's own: DONE comes without a record */
	bool broken; /* it was; record is what it is now, unless replaced */
	/*
	 * records_ask: of a COMPLETED record the answer's status; 0: it can
	 * only be read in the whole of it.
	 */
	int status;
	bool whole; /* the answer was wanted with it */
};

/* Reads a record; whole: with the answer, where it is COMPLETED. */
void records_show(struct store *store, struct records_op *look,
    const struct key_id *key_id, bool whole);

/* The same without an answer, but with its status. */
void records_ask(struct store *store, struct records_op *look,
    const struct key_id *key_id);

enum records_act {
	ACT_RELEASE,  /* of UNKNOWN, FAILED: the key is free, tries at 0 */
	ACT_COMPLETE, /* of UNKNOWN, FAILED: COMPLETED with that answer */
	ACT_DELETE,   /* of all but PROCESSING: there is no record any more;
			 of one that is BROKEN, where no attempt is named: it
			 is UNKNOWN, of a request that nobody knows */
};
struct records_order {
	enum records_act act;
	/*
	 * Of the record that is meant; 0 and empty: any.  ACT_COMPLETE must
	 * name both: the answer is sealed for them.
	 */
	uint32_t attempt;
	struct span fingerprint;
	int64_t retention_ms; /* how long the record then lives, if any */
	const struct answer *answer; /* ACT_COMPLETE, else NULL */
	struct span note; /* the operator's; kept in the record */
	/*
	 * ACT_DELETE of one that is BROKEN: the answer that takes its place at
	 * once; lives as long as the operation waits.  NULL: none.
	 */
	const struct journal_entry *waiting;
};
/*
 * Changes a record.  DONE: op.state is the state before, record what it is now.
 * FENCED, with op.state and op.attempt: the state forbids the act, or the
 * record is not the one that is meant.
 */
void records_operate(struct store *store, struct records_op *look,
    const struct key_id *key_id, const struct records_order *order);

/* --- for records_list.c --- */

struct call_reply;
struct record;
/* Reads the two elements from at on, ms-left and value: 0 or E_MALFORMED. */
int records_read_pair(const struct call_reply *reply, size_t at,
    const struct key_id *key_id, struct record_view *ret_shown,
    struct record *ret_record);
/*
 * Copies its texts, which are part of the reply, into the arena; the label is
 * then what people read.
 */
void records_keep(const struct store *store, struct arena *arena,
    struct record_view *record);
