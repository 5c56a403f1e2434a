/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "http/upstream/forward.h"
#include "http/upstream/upstreams.h"
#include "messages/relay/relay.h"
#include "messages/shared/kept.h"
#include "store/record/event.h"

/*
 * A webhook target from inside.  An event that it is handed is first kept in
 * Redis, with the body that each try will have, which ends the batch; then it
 * is in the lane of its record, whose first is sent, and sent again until it is
 * taken or given up; then Redis forgets it.  So an event that is not taken
 * holds up those of its record, and no others.  webhook_keep.c talks to Redis,
 * webhook_lane.c has the lanes, webhook_send.c sends, webhook.c is what the
 * core sees.  The worker's thread.
 */
enum {
	WEBHOOK_IN_FLIGHT = 64,
	/* So many events are kept at most, … */
	WEBHOOK_KEPT_MAX = 10000,
	/* … or fewer, of so many bytes; one at least. */
	WEBHOOK_KEPT_BYTES = 64 << 20,
	/* Records that are due: with so many, no more events are taken. */
	WEBHOOK_READY_MAX = 256,
	/* Bodies that are also in memory, bytes. */
	WEBHOOK_BODIES_MAX = 8 << 20,
	/* So many failures in a row say that the receiver is down. */
	WEBHOOK_DOWN = 3,
	/*
	 * After so many, one event a second is tried for the first time; and
	 * what fails then is tried as soon as the receiver takes something.
	 */
	WEBHOOK_FAILING = 64,
	/* So many of those for each event that it takes. */
	WEBHOOK_FORWARD = 2,
	WEBHOOK_LANES = 4096, /* buckets */
	WEBHOOK_AGAIN_MS = 500, /* what Redis did not do */
	WEBHOOK_GONE_MS = 5000, /* until the pause is asked for again */
};

struct webhook;

struct webhook_event {
	struct webhook_event *next; /* of its record */
	char id[EVENT_ID_MAX];
	struct event_id place;
	char *body; /* NULL: it is only in Redis */
	size_t body_bytes;
	int64_t since_ms; /* kept, by Redis' clock */
};

/* The events of one record, in their order; one at least. */
struct webhook_lane {
	struct webhook *hook;
	struct webhook_lane *in_bucket;
	struct webhook_lane *next_ready;
	char key_id[DIGEST_HEX + 1];
	struct webhook_event *first, *last;
	unsigned tries; /* of the first that failed */
	struct timer timer; /* when it is tried again */
	/* Among those that rest until the receiver is back; NULL: it is not. */
	struct webhook_lane **down_at;
	struct webhook_lane *down_next;
};

/* A request that may be under way. */
struct webhook_slot {
	struct webhook *hook;
	struct webhook_lane *lane; /* NULL: it is free */
	struct arena *arena;
	struct kept_op read; /* brings the body */
	struct forward forward;
};

struct webhook {
	struct relay_target target; /* first */
	struct relay_target_events events;
	const struct conf_relay *relay;
	const struct turn *turn;
	struct loop *loop;
	struct shared shared;
	/* The receiver; what stands behind its authority is the target. */
	struct conf_upstream receiver;
	struct conf_target place;
	char no_path[1]; /* "" */
	struct upstreams *upstreams;
	int64_t ahead_ms; /* Redis' clock of ours */
	bool holds;       /* nothing new is begun: the core says so … */
	bool gone;        /* … or the receiver did (410) */

	struct webhook_lane *buckets[WEBHOOK_LANES];
	struct webhook_lane *ready, **ready_end;
	/* Those that rest until the receiver is back, first of all. */
	struct webhook_lane *down, **down_end;
	size_t kept, kept_bytes; /* events, and their bodies in Redis */
	size_t n_ready;          /* lanes */
	size_t bodies_bytes;     /* in memory */

	struct webhook_slot slots[WEBHOOK_IN_FLIGHT];
	size_t in_flight;
	size_t allowed; /* in flight: fewer, while the receiver says so */
	unsigned failures; /* in a row */
	int64_t tried_ms;  /* when one was last kept while it is failing */
	char trouble[200]; /* the last; "" for none */

	bool loaded; /* what an earlier turn kept is known */
	struct kept_op list;
	struct kept_event *listed; /* so far */
	size_t n_listed;
	struct kept_op keep;
	struct kept_event *keeping_list; /* what is under way */
	size_t keeping; /* events of the first batch, under way */
	struct kept_op drop;
	size_t dropping; /* of the first to be dropped, under way */
	char (*dropped)[EVENT_ID_MAX];
	size_t n_dropped, dropped_size;
	struct timer keep_timer, list_timer, drop_timer, gone_timer;

	struct relay_batch *first_batch;
	size_t batch_at; /* so many of its events are kept */

	/* What the core is to be told, from a task of our own. */
	struct task tell;
	uint64_t late, lost;
	char lost_why[400];
	bool changed, fenced, wants_pause;
};

/* Tells the core, later in this turn, what there is to be told. */
void webhook_tell(struct webhook *hook);

/* Begins to load what an earlier turn kept. */
void webhook_keep_load(struct webhook *hook);
/* Keeps more of the batches, if there is room. */
void webhook_keep_more(struct webhook *hook);
/* Has Redis forget that event. */
void webhook_keep_drop(struct webhook *hook, const char *id);
/* Something is on its way to Redis. */
bool webhook_keep_is_busy(const struct webhook *hook);
void webhook_keep_init(struct webhook *hook);
void webhook_keep_end(struct webhook *hook);

/*
 * Adds an event behind the others of its record, unless it is there; body
 * (NULL: it is only in Redis) is copied.
 */
void webhook_lane_add(struct webhook *hook, const struct kept_event *event,
    const char *body);
/* The next lane whose first event is due; NULL: none is. */
struct webhook_lane *webhook_lane_next(struct webhook *hook);
/* The first is done with; the lane may be gone then. */
void webhook_lane_done(struct webhook_lane *lane);
/* The first is due in so many milliseconds; its body is left to Redis. */
void webhook_lane_rest(struct webhook_lane *lane, int64_t ms);
/* The same, or sooner: what is wrong is the receiver, not the event. */
void webhook_lane_rest_down(struct webhook_lane *lane, int64_t ms);
/* The receiver is back: that many of those are due. */
void webhook_lane_forward(struct webhook *hook, unsigned count);
void webhook_lane_end(struct webhook *hook);

void webhook_send_init(struct webhook *hook);
/* Sends what is due, as far as that is allowed. */
void webhook_send_more(struct webhook *hook);
void webhook_send_end(struct webhook *hook);
