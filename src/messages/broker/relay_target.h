/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/loop/log.h"
#include "conf/conf.h"

/*
 * Where a relay brings the events of the store (contract, section 12): a
 * ledger, which is a table of PostgreSQL or a topic of Kafka, or a webhook.
 * Here is what relay and target have of each other.  The relay (messages/relay)
 * reads events, in the order of each record, and puts them in batches; the
 * target brings them, and says when they are there.  A target knows neither
 * where events come from nor who leads, and connects, and connects again, by
 * itself.  One worker has a relay, and that worker's thread alone calls this.
 */
struct leadership;
struct relay_target;
struct worker;

/* Where a relay stands in the stream of a shard: behind that entry. */
struct relay_place {
	bool known; /* else before the first entry */
	uint64_t ms, seq;
	/*
	 * How many entries the stream has ever had up to there; so it is seen
	 * what was trimmed before it was read.  -1: not known yet.
	 */
	int64_t count;
};

enum { RELAY_WHY_BYTES = 512 }; /* why events are not brought */

/* "MS-SEQ COUNT", as it rests: of none "0-0 -1", before the first entry. */
enum { RELAY_PLACE_BYTES = 64 };
void relay_target_write_place(
    const struct relay_place *place, char ret_text[RELAY_PLACE_BYTES]);
struct relay_place relay_target_read_place(struct span text);

/* A change of state of a record, as others are told it. */
struct relay_event {
	struct span id;     /* SHARD-MS-SEQ; no other event of the store's */
	struct span key_id; /* in hex: the record, which orders events */
	struct span text;   /* JSON: the message */
	/* That without its answer, which it has; ptr NULL: it has none. */
	struct span bare;
};

struct relay_batch {
	struct arena *arena;        /* of all of this, and for the target */
	struct relay_event *events; /* in the order of each record; or none */
	size_t n_events;
	/* Where the relay stands with them; known: in that shard it moves. */
	struct relay_place *places;
};

/* What a target tells; these may be called from its functions, but open. */
struct relay_target_events {
	/*
	 * By a target that keeps the place, before anything is put, and again
	 * where it has connected again: where it stands, in each shard.  places
	 * are valid during the call; what was put is given up, and is there or
	 * not, as they say; it may be put again within this.
	 */
	void (*opened)(void *arg, const struct relay_place *places);
	/* Something of its health is another one. */
	void (*changed)(void *arg);
	/* What was put is there, or the target keeps it until it is. */
	void (*done)(void *arg);
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
	/* An event that it kept was brought, … */
	void (*brought)(void *arg);
	/* … or is given up. */
	void (*lost)(
	    void *arg, enum event event, uint64_t count, const char *why);
};

struct relay_target_start {
	struct worker *worker; /* NULL, unless it is for a webhook */
	const struct leadership *leader; /* likewise; outlives the target */
	struct loop *loop;
	const struct conf *conf;
	const struct conf_relay *relay; /* of conf; both outlive the target */
	const char *store; /* the store's id: of whom the place is; copied */
	unsigned shards;
	/*
	 * Of this gateway's leadership, and greater than that of all before it:
	 * what the target keeps of an earlier one yields to it.
	 */
	int64_t term;
	const struct relay_target_events *events;
	void *arg; /* of these */
};

/* The functions of a target, one table for each kind. */
struct relay_target_kind {
	/*
	 * It remembers with the events where the relay stands, so that what it
	 * brings is there once.  Else Redis does, and the target keeps what was
	 * put until it was brought.
	 */
	bool keeps_place;
	size_t events; /* in a batch without answers, about */
	struct relay_target *(*open)(const struct relay_target_start *start);
	/*
	 * Takes a batch, which lives until it is done or given up; the one
	 * before it is.  What fails is tried again until the target is closed.
	 */
	void (*put)(struct relay_target *target, struct relay_batch *batch);
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
	/* At once, whatever is on its way; nothing is told any more. */
	void (*close)(struct relay_target *target);
};

/* The first member of each kind's own target. */
struct relay_target {
	const struct relay_target_events *events;
	void *arg;
	/* Its health; the first two as it said last. */
	bool up; /* as far as is known, events can be brought */
	char message[RELAY_WHY_BYTES]; /* why not, or the last trouble; "" */
	size_t waiting; /* events that it keeps */
};
/* It is up, or why not; the relay hears of what is new. */
void relay_target_say(
    struct relay_target *target, bool up, const char *message);
