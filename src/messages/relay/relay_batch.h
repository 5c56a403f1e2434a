/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/answer.h"
#include "base/arena.h"
#include "messages/relay/relay_stream.h"
#include "store/records.h"

/*
 * A batch of events on its way: it is filled with those entries that a relay
 * wants, is completed with the answers that belong to them, and put to a target
 * (relay.h), which ends it.  It knows no target.  The store's thread.
 */

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

enum { RELAY_BATCH_FETCHES = 16 };

struct relay_batch {
	/*
	 * For the target to end with 0 (op_start, op_done): the events are
	 * there, or it keeps them itself.  Never with an error: what fails is
	 * tried again, for as long as the target is not closed.
	 */
	struct op op;
	struct arena *arena; /* of all of this, and for the target, too */
	struct relay_event *events; /* in the order of each record; or none */
	size_t n_events;
	/* Where the relay stands once they are there; shards that have moved */
	struct relay_position *positions;
	size_t n_positions;
	/* The core's: */
	void *owner;
	struct store *store;
	const struct conf *conf; /* relay is of it */
	const struct conf_relay *relay;
	size_t events_size, positions_size;
	size_t entries; /* that it has, also those that are not wanted */
	size_t next;    /* event whose answer is looked for */
	size_t fetching;
	struct relay_fetch {
		struct relay_batch *batch;
		struct relay_event *event;
		struct records_op look;
		struct timer timer;
	} fetches[RELAY_BATCH_FETCHES];
	void (*complete)(struct relay_batch *batch);
};

struct relay_batch *relay_batch_new(struct store *store,
    const struct conf *conf, struct loop *loop,
    const struct conf_relay *relay);
/* What is on its way is given up; accepts NULL. */
void relay_batch_free(struct relay_batch *batch);

/* Adds an entry; of one that the relay does not want, only where it stands. */
void relay_batch_add(
    struct relay_batch *batch, const struct relay_entry *entry);
/* Where a shard stands, without an entry. */
void relay_batch_stand(
    struct relay_batch *batch, const struct relay_position *position);
/*
 * Nothing more is added.  complete is called when it has all answers that are
 * still kept, never from within this; it asks until Redis has said which.
 */
void relay_batch_complete(struct relay_batch *batch,
    void (*complete)(struct relay_batch *batch));
