/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/answer.h"
#include "base/arena.h"
#include "gate/worker.h"
#include "messages/shared/turn.h"

/*
 * A relay carries the events of the store (contract, section 12) to a target.
 * Here is what both have of each other: the core (relay_run.h) reads events, in
 * the order of each record, and hands them to the target in batches; the target
 * brings them there, and says when they are.  The core knows no target, and a
 * target neither where events come from nor whose turn it is.  There is one
 * file for each kind of target.  One worker has a relay, and that
 * worker's thread alone calls all of this.
 */
struct relay_target;

/* A change of state of a record. */
struct relay_event {
	struct span id;     /* SHARD-MS-SEQ; no other event of the store's */
	struct span key_id; /* in hex: the record, which orders events */
	struct span route;
	struct span from, to; /* NONE, PROCESSING, COMPLETED, UNKNOWN, FAILED */
	int status; /* of the answer that was stored; 0: none */
	int64_t attempt;
	int64_t time_ms; /* since 1970, by Redis' clock */
	struct span instance, request_id, label; /* ptr NULL: not known */
	/*
	 * The stored answer, where the relay wants it and it is still kept; the
	 * batch has the reference.  NULL: none.
	 */
	struct answer *answer;
};

/* Where a relay stands in a shard's stream: behind that entry. */
struct relay_mark {
	unsigned shard;
	uint64_t ms, seq; /* of the entry; 0-0: before the first */
	/*
	 * How many entries the stream has ever had up to there; so it is seen
	 * what was trimmed before it was read.  -1: not known yet.
	 */
	int64_t count;
};

/*
 * Events on their way, in the order of each record, and where the relay stands
 * once they are there; all of it is in the arena.  Made and freed by the core.
 */
struct relay_batch {
	/*
	 * For the target to end with 0 (op_start, op_done): the events are
	 * there, or it keeps them itself.  Never with an error: what fails is
	 * tried again, for as long as the target is not closed.
	 */
	struct op op;
	struct arena *arena;
	struct relay_event *events; /* in order; perhaps none */
	size_t n_events;
	struct relay_mark *marks; /* of the shards that have moved */
	size_t n_marks;
	void *token; /* the target's own; NULL at first */
	size_t kept; /* events that it keeps itself, and will say are late */
	/* The core's: */
	struct relay_batch *next;
};

/* What a target tells, from the loop and never from within a call. */
struct relay_target_events {
	/*
	 * Before anything is put, by a target that keeps its place: where it
	 * stands.  Shards that are missing: before the first entry.  marks are
	 * valid during the call.  Again, where it turns out to stand elsewhere
	 * than it did: all batches are given up.
	 */
	void (*opened)(
	    void *arg, const struct relay_mark *marks, size_t n_marks);
	/* Something of its health is another one. */
	void (*changed)(void *arg);
	/*
	 * The target has seen a later turn than ours: nothing that is put will
	 * be taken any more.  It is to be closed.
	 */
	void (*fenced)(void *arg);
	/*
	 * The target wants no more (410): the relay is paused, for all gateways
	 * until an operator resumes it, with that note.
	 */
	void (*pause)(void *arg, const char *note);
	/* So many events were given up, although they were not brought. */
	void (*lost)(void *arg, uint64_t count, const char *why);
	/* So many events of batches that are done were brought only now. */
	void (*late)(void *arg, uint64_t count);
	void *arg;
};

struct relay_target_start {
	struct worker *worker; /* loop, store, … */
	const struct conf *conf;
	const struct conf_relay *relay; /* of conf; both outlive the target */
	/*
	 * Of this gateway, and greater than that of all before it: what the
	 * target keeps of an earlier one yields to it.
	 */
	int64_t turn_number;
	const struct turn *turn; /* outlives the target */
	const struct relay_target_events *events; /* copied */
};

struct relay_target_health {
	bool up; /* as far as is known, events can be brought */
	const char *message; /* why not, or the last trouble; "" for none */
	uint64_t waiting; /* events of batches that are done: to be retried */
};

/* The functions of a target, one table for each kind. */
struct relay_target_kind {
	/*
	 * It remembers with the events where the relay stands, so that what it
	 * brings is there once.  Else Redis does, after they were brought.
	 */
	bool keeps_place;
	size_t batches; /* it takes as many at a time, from 1 */
	size_t events;  /* in a batch without answers, about */
	/* It connects, and connects again, by itself. */
	struct relay_target *(*open)(const struct relay_target_start *start);
	/*
	 * Takes a batch.  Those before it that are not done yet come before it,
	 * at least in the order of each record.
	 */
	void (*put)(struct relay_target *target, struct relay_batch *batch);
	/* Valid until the next turn of the loop. */
	struct relay_target_health (*health)(const struct relay_target *target);
	/*
	 * Nothing new is begun while it holds: the relay is paused, or drains.
	 * NULL: the target begins nothing that was not put.
	 */
	void (*hold)(struct relay_target *target, bool holds);
	/*
	 * While it holds: nothing is on its way any more.  NULL: as long as
	 * batches are.
	 */
	bool (*is_idle)(const struct relay_target *target);
	/*
	 * At once, whatever is on its way; batches that are not done end with
	 * E_CANCELLED (their op is given up by the core before this).
	 */
	void (*close)(struct relay_target *target);
};

/* The first member of each kind's own target. */
struct relay_target {
	const struct relay_target_kind *kind;
};
