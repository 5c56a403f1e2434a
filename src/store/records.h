/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "store/journal/journal_entry.h"
#include "store/record/record.h"
#include "store/store.h"

/*
 * Records as operators see them: shown, counted, listed, and changed on an
 * operator's word.  Each act is one atomic script (lua/operate.lua) that
 * decides whether the record's state allows it.  It knows nothing of HTTP.
 * Operations and their errors are as in store.h: an act that ended in an error
 * may have been done all the same.  The store's own thread only.  What a record
 * points to lives in the arena that the operation was given; its label is as
 * people read it, the owner of one that is nobody's is empty, and so is its
 * rest.  An answer is counted, and the caller unrefs it.
 */

/*
 * One record, shown or changed.  Verdicts: DONE, with record, and where it is
 * COMPLETED and its answer was wanted, with op.answer or unreadable; GONE;
 * BROKEN; of an act also FENCED, with the record's state in op.state.
 */
struct records_op {
	struct store_op op;
	struct arena *arena; /* set by the owner, kept while it is pending */
	struct record record;
	/* Why its answer cannot be read, a message; NULL: it can. */
	const char *unreadable;
	bool damaged; /* that is because it makes no sense */
	bool bare; /* the store's own: DONE comes without a record */
	/* It was, for Redis too; record is what it is now, unless replaced. */
	bool broken;
	/*
	 * RECORDS_STATUS: of a COMPLETED record the answer's status; 0: it can
	 * only be read in the whole of it.
	 */
	int status;
	bool whole; /* the answer was wanted with it */
};

/* The part that is wanted of a COMPLETED record's answer (lua/show.lua). */
enum records_part {
	RECORDS_HEAD,   /* nothing */
	RECORDS_WHOLE,  /* all of it */
	RECORDS_STATUS, /* its status */
};
/* Reads a record, and that part of its answer. */
void records_show(struct store *store, struct records_op *shown,
    const struct key_id *key_id, enum records_part part);

enum records_act {
	ACT_RELEASE,  /* of UNKNOWN, FAILED: the key is free, tries at 0 */
	ACT_RELEASE_FAILED, /* the same, of FAILED alone */
	ACT_COMPLETE, /* of UNKNOWN, FAILED: COMPLETED with that answer */
	ACT_DELETE,   /* of all but PROCESSING: there is no record any more;
			 of one that is BROKEN, where no attempt is named: it
			 is UNKNOWN, of a request that nobody knows */
};
struct records_order {
	enum records_act act;
	/*
	 * Of the record that is meant; 0 and empty: any.  ACT_COMPLETE must
	 * name both: the answer is sealed for them.  Of one that is broken
	 * neither is known: a fingerprint that no record has means that one.
	 */
	uint32_t attempt;
	struct span fingerprint;
	int64_t changed_ms; /* of that record; 0: any */
	int64_t retention_ms; /* how long the record then lives, if any */
	const struct answer *answer; /* ACT_COMPLETE, else NULL */
	struct span note; /* the operator's; kept in the record, … */
	struct span who;  /* … as is his name; empty: not known */
	struct span label; /* ACT_COMPLETE: the record's, as people read it */
	/*
	 * ACT_DELETE of one that is BROKEN: the answer that takes its place at
	 * once; lives as long as the operation waits.  NULL: none.
	 */
	const struct journal_entry *outcome;
};
/*
 * Changes a record.  DONE: op.state is the state before, record what it is now.
 * FENCED, with op.state and op.attempt: the state forbids the act, or the
 * record is not the one that is meant.
 */
void records_operate(struct store *store, struct records_op *shown,
    const struct key_id *key_id, const struct records_order *order);

/* How many records are in a state for a reason, of a route. */
struct records_group {
	enum record_state state;
	enum reason reason;
	struct span route; /* in the arena; 200 bytes; empty: none */
	uint64_t count;
	int64_t oldest_ms; /* since when the first of them is so */
};
enum { RECORDS_GROUPS = 512 };
/*
 * The records that are not final, counted over all shards: PROCESSING, UNKNOWN
 * and FAILED; the other states have no index, and stay 0.
 */
struct records_count {
	struct store_op op;
	struct arena *arena; /* set by the owner, kept while it is pending */
	uint64_t records[STATE_COUNT_];
	/* Of those that are UNKNOWN or FAILED; others are in no group. */
	struct records_group *groups;
	size_t n_groups; /* at most RECORDS_GROUPS */
	bool more; /* there are others */
	unsigned shard; /* the store's own: the next to be asked */
};
void records_count(struct store *store, struct records_count *count);

/*
 * One page of the records that are not final, and of a label's that are
 * COMPLETED, over all shards, the least recently changed first.
 */
struct records_list {
	struct store_op op;
	/* Set by the owner: */
	struct arena *arena; /* must live while it is pending */
	bool wanted[STATE_COUNT_];
	struct span label;    /* of those that are COMPLETED; empty: none */
	size_t limit;         /* 1 or more */
	struct span after;    /* place of the last record; empty: first page */
	/* Set at the end: */
	struct record *records; /* at most limit */
	size_t count;
	bool more; /* more follow */
	/* The store's own: */
	unsigned shard; /* the next to be asked */
};
void records_list(struct store *store, struct records_list *list);

/*
 * The place from which the page after this record goes on: PLACE_CHARS and a
 * NUL.
 */
enum { PLACE_CHARS = 13 + DIGEST_HEX };
void records_list_place(
    const struct record *record, char ret_place[PLACE_CHARS + 1]);
/* True: records_list_place() can have made it. */
bool records_list_is_place(struct span place);
