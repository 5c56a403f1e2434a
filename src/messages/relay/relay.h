/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/log.h"
#include "gate/worker.h"
#include "messages/relay/relay_batch.h"
#include "messages/shared/leadership.h"

/*
 * A relay carries the events of the store (contract, section 12) to a target.
 * Here is what both have of each other: the core (relay_run.h) reads events, in
 * the order of each record, and hands them to the target in batches; the target
 * brings them there, and says when they are.  The core knows no target, and a
 * target neither where events come from nor who leads.  There is one file for
 * each kind of target.  One worker has a relay, and that worker's thread alone
 * calls all of this.
 */
struct relay_target;

/*
 * What a target tells.  None of these calls the target; they may be called from
 * within its own functions, but for open.
 */
struct relay_target_events {
	/*
	 * Before anything is put, by a target that keeps its position: where it
	 * stands.  Shards that are missing: before the first entry.  positions
	 * are valid during the call.  Again, where it turns out to stand
	 * elsewhere than it did: all batches are given up.
	 */
	void (*opened)(void *arg, const struct relay_position *positions,
	    size_t n_positions);
	/* Something of its health is another one. */
	void (*changed)(void *arg);
	/*
	 * The target has seen a later term than ours: nothing that is put will
	 * be taken any more.  It is to be closed.
	 */
	void (*fenced)(void *arg);
	/*
	 * The target wants no more (410): the relay is paused, for all gateways
	 * until an operator resumes it, with that note.
	 */
	void (*pause)(void *arg, const char *note);
	/* So many events are gone although they were not brought. */
	void (*lost)(void *arg, enum event event, uint64_t count,
	    const char *why);
	/* So many events that it kept were brought. */
	void (*brought)(void *arg, uint64_t count);
	void *arg;
};

struct relay_target_start {
	struct worker *worker; /* loop, store, … */
	const struct conf *conf;
	const struct conf_relay *relay; /* of conf; both outlive the target */
	/*
	 * Of this gateway's leadership, and greater than that of all before it:
	 * what the target keeps of an earlier one yields to it.
	 */
	int64_t term;
	const struct leadership *leader; /* outlives the target */
	const struct relay_target_events *events; /* copied */
};

struct relay_target_health {
	bool up; /* as far as is known, events can be brought */
	const char *message; /* why not, or the last trouble; "" for none */
	uint64_t waiting; /* events that it keeps */
};

/* The functions of a target, one table for each kind. */
struct relay_target_kind {
	/*
	 * It remembers with the events where the relay stands, so that what it
	 * brings is there once.  Else Redis does, after they were brought.
	 */
	bool keeps_position;
	/* A batch that is done it keeps itself, and says what it brought. */
	bool keeps_events;
	size_t events; /* in a batch without answers, about */
	/* It connects, and connects again, by itself. */
	struct relay_target *(*open)(const struct relay_target_start *start);
	/* Takes a batch; the one before it is done. */
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
