/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/hash.h"
#include "base/loop/timer.h"
#include "messages/shared/letter_stored.h"

/*
 * The letters of a source: its dead and its parked messages, which stay in
 * Redis (lua/letter_keys.lua) until an operator has had each of them replayed
 * or dropped.  A lane is an order of the source whose first letter is dead;
 * what comes after that in this order is parked behind it.  A letter outside of
 * any order stands alone.
 *
 * A letter is WRITTEN before its broker acknowledges the message, and CONFIRMED
 * when that is known: only then may it be begun.  Who begins one has it for
 * LETTERS_LEASE_MS, renews that, and ends it, or puts it back.  Where the first
 * of a lane ends, the next is begun for the same owner in the same step, and
 * the lane is gone with its last: so nothing newer of that order goes before
 * what is parked.  What is begun and not renewed is told to every gateway that
 * has the source (events.left), any of which may take it over.
 *
 * A letter, its lane and its indexes are in one slot, by a hash of source and
 * lane, or position.  What it has is sealed where store.encryption_keys are
 * (record/seal.h), but for the reason.  It knows of brokers only what they call
 * a message.  A member of its source, which stops it before it or the store is
 * gone; the store's thread.
 */
enum {
	LETTERS_LEASE_MS = 15000,
	LETTERS_PAGE_MAX = 100,
	LETTERS_STAMP_DIGITS = 13, /* of when it was put */
	LETTERS_NEXT_BYTES = 64, /* of a cursor, with its NUL */
};

/* What is to be done with a letter. */
enum letter_act {
	LETTER_REPLAY, /* it was begun for that … */
	LETTER_DROP,   /* … or for that */
	LETTER_ACKNOWLEDGE, /* its broker is to, and then it is CONFIRMED */
};

/* The owner may start operations in them, but not stop the letters. */
struct letters_events {
	/* They are known; lanes and counts may be other ones. */
	void (*changed)(void *arg);
	/*
	 * Somebody has to go on with that letter: it was begun, and nobody
	 * renews it (letter_do takes it over); or it has been WRITTEN for
	 * LETTERS_LEASE_MS.  Told again until somebody has.
	 */
	void (*left)(void *arg, const struct letter_name *name,
	    enum letter_act act);
	void *arg;
};

/* What is known of a shard; an answer that is older changes nothing. */
struct letters_shard {
	struct list lanes, written;
	uint64_t dead, parked;
	struct store_call *call; /* by which it is looked at; NULL: none */
	bool due;    /* it is to be looked at once more */
	bool known;  /* it was, since letters_load */
	bool failed; /* the last look */
	/* By Redis' clock: the last look, and the last change from here. */
	int64_t looked_ms, changed_ms;
};

struct letters {
	/* Each call has a shard of its own; trouble is why they are unknown. */
	struct shared shared;
	struct letters_events events;
	/* What is known; shards NULL: it is for operations alone. */
	struct letters_shard *shards;
	struct hash lanes, written;
	/* Messages: as last loaded, and what was done here since. */
	uint64_t dead, parked;
	/* Shards that did not say since letters_load; 0: they are known. */
	size_t n_unknown;
	size_t n_failed;  /* those that could not say when asked last */
	struct timer timer;
	struct subscriber_hearing hearing;
};

/* For operations alone, of who has no source: nothing is loaded. */
void letters_init(
    struct letters *letters, struct store *store, const char *source);
/*
 * Loads what is there, now and every few seconds (lanes, what is WRITTEN, what
 * was left, counts).  events are copied; source lives as long as letters.
 */
void letters_start(struct letters *letters, struct store *store,
    struct loop *loop, const char *source,
    const struct letters_events *events);
/* Zeroed memory is stopped. */
void letters_stop(struct letters *letters);
/* Others had its messages until now: nothing is known before it is loaded. */
void letters_load(struct letters *letters);
/* The same, but what is known stays known meanwhile. */
void letters_look(struct letters *letters);
/* For where they are known. */
bool letters_have_lane(
    const struct letters *letters, const struct letters_lane *lane);
/* Whether that message may have a letter that is WRITTEN. */
bool letters_may_be_written(
    const struct letters *letters, struct span position);

/*
 * For letter.c alone: what is known of that shard after an operation on the
 * letter of that name; letter is the one that the reply is about.
 */
void letters_note(struct letters *letters, unsigned shard,
    const struct letter_name *name, const struct letter *letter,
    const struct call_reply *reply);

/* A page, the longest there first: heads, without bodies. */
struct letters_list {
	struct store_op op;
	/* Set by the owner: */
	struct arena *arena; /* kept while it is pending */
	bool dead, parked;   /* which are wanted */
	size_t limit;        /* 1 to LETTERS_PAGE_MAX */
	char after[LETTERS_NEXT_BYTES]; /* "": from the first */
	/* Set at the end: */
	struct letter *letters; /* at most limit */
	size_t count;
	char next[LETTERS_NEXT_BYTES]; /* "": that is all */
	/* The module's own: */
	const struct letters *of;
};
void letters_list(const struct letters *letters, struct letters_list *list);
/* Whether letters_list can have made that cursor. */
bool letters_list_is_next(struct span next);
