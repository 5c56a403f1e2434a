/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/hash.h"
#include "base/list.h"
#include "messages/broker/relay_target.h"
#include "messages/shared/leadership.h"
#include "store/record/event.h"

/*
 * The events that a webhook is still to be sent, in lanes: one for each record,
 * whose first is tried until it was taken or is given up, and holds up no
 * others.  All of them are in Redis (lua/kept.lua), each with the body that
 * every try has, sealed where the store has encryption keys, and how often it
 * was tried; so whoever leads the relay next goes on with them.  Time is
 * counted in seconds in which the relay ran, by ticks of a timer: no clock, and
 * no pause, makes an event older.  It knows nothing of how they are sent.  A
 * member of its owner; the worker's thread.
 */
struct webhook_event {
	struct list item; /* of its lane; or it is to be forgotten */
	char id[EVENT_ID_MAX];
	char key_id[DIGEST_HEX + 1]; /* in hex: its record */
	int64_t kept_s; /* for so long the relay had run when it was put */
	unsigned tries; /* that have failed */
	size_t bytes;   /* of its body */
};

struct webhook_lane {
	struct webhook_queue *queue;
	struct hash_item item;
	struct list events; /* one at least, in their order */
	struct list ready;  /* it is; or else is being tried, or … */
	struct timer timer; /* … rests until then, … */
	bool is_told;       /* … as the receiver has said */
};

/* What Redis is asked for, one call of each at a time. */
enum webhook_act {
	WEBHOOK_LIST,
	WEBHOOK_PUT,
	WEBHOOK_DROP,
	WEBHOOK_ACTS,
};

struct webhook_queue {
	struct shared shared;
	struct loop *loop;
	const struct leadership *leader;
	/* Of whom it is told when a batch is in Redis, or it is fenced. */
	const struct relay_target *target;
	void (*changed)(void *arg); /* there may be something to send */
	void *arg;
	bool loaded;   /* what was kept before is known */
	bool runs;     /* its owner's: time is counted, and more is put */
	int64_t ran_s; /* for so long the relay has run */
	size_t count, bytes; /* events, and their bodies */
	struct hash lanes;
	struct list ready; /* lanes */
	const struct relay_batch *batch; /* that is put; NULL: none */
	size_t put, putting; /* of its events: Redis has, and is to have */
	struct list brought, forgetting; /* events; the latter under way */
	struct store_call *calls[WEBHOOK_ACTS]; /* under way */
	struct timer tick;
	struct task ask;
};

/* Loads what was kept before.  name, the relay's, lives as long. */
void webhook_queue_open(struct webhook_queue *queue, struct store *store,
    struct loop *loop, const char *name, const struct leadership *leader,
    const struct relay_target *target, void (*changed)(void *arg), void *arg);
void webhook_queue_close(struct webhook_queue *queue);
/* Something is on its way to Redis. */
bool webhook_queue_is_busy(const struct webhook_queue *queue);
/* Time is counted, and what was put goes to Redis as there is room; or not. */
void webhook_queue_run(struct webhook_queue *queue, bool runs);

/* Puts a batch, which lives until that is done; one at a time. */
void webhook_queue_put(
    struct webhook_queue *queue, const struct relay_batch *batch);
/* The next lane that is ready: it is being tried from now on; or NULL. */
struct webhook_lane *webhook_queue_next(struct webhook_queue *queue);
struct webhook_event *webhook_queue_first(const struct webhook_lane *lane);
/*
 * A call, not yet started, that counts a try of a lane's first event and reads
 * its body.  GONE: it was brought before.
 */
struct store_call *webhook_queue_try(const struct webhook_lane *lane);
/*
 * Opens what that has read; the caller frees it.  E_NO_KEY: it is sealed with a
 * key that is not here; another error: it is not what was put there.
 */
MUST_USE int webhook_queue_body(const struct webhook_lane *lane,
    struct span stored, char **ret_body, size_t *ret_len);
/* The first is done with; the lane may be gone then. */
void webhook_queue_done(struct webhook_lane *lane);
/* The lane is ready in ms; is_told: and not sooner. */
void webhook_queue_rest(struct webhook_lane *lane, int64_t ms, bool is_told);
/* All that rest are ready, but those that were told how long. */
void webhook_queue_wake(struct webhook_queue *queue);
