/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/hash.h"
#include "base/list.h"
#include "messages/relay/relay.h"
#include "messages/shared/shared.h"
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
enum {
	/* With so many, or of so many bytes, the owner adds no more. */
	WEBHOOK_QUEUE_MAX = 10000,
	WEBHOOK_QUEUE_BYTES = 64 << 20,
	WEBHOOK_QUEUE_CHUNK = 100, /* are put together, at most */
};

struct webhook_event {
	struct list item; /* of its lane; or it is being put or forgotten */
	char id[EVENT_ID_MAX];
	char key_id[DIGEST_HEX + 1]; /* in hex: its record */
	int64_t kept_s; /* for so long the relay had run when it was put */
	unsigned tries; /* that have failed */
	size_t bytes;   /* of its body in Redis */
	char *body;     /* NULL: it is only there */
	size_t len;     /* of body */
};

struct webhook_lane {
	struct webhook_queue *queue;
	struct hash_item item;
	struct list events; /* one at least, in their order */
	struct list state;  /* among those that are ready, or that rest */
	struct timer timer; /* it rests until then, … */
	bool is_told;       /* … as the receiver has said */
};

enum webhook_found {
	WEBHOOK_FOUND,
	WEBHOOK_FOUND_AWAY,   /* Redis did not say */
	WEBHOOK_FOUND_NONE,   /* it was brought before */
	WEBHOOK_FOUND_NO_KEY, /* it is sealed with a key that is not here */
	WEBHOOK_FOUND_OTHER,  /* it is not what was put there */
};

/* A body that is read; a member of whoever waits for it. */
struct webhook_read {
	struct webhook_queue *queue;
	const struct webhook_event *event;
	struct store_call *call; /* under way; NULL: none */
	/* body is valid during the call, and only where it was found. */
	void (*done)(struct webhook_read *read, enum webhook_found found,
	    struct span body);
};

struct webhook_queue_events {
	/* There may be something to send, or room for more. */
	void (*changed)(void *arg);
	/* Another one leads the relay: nothing is taken any more. */
	void (*fenced)(void *arg);
	void *arg;
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
	struct webhook_queue_events events;
	bool loaded;   /* what was kept before is known */
	bool runs;     /* its owner's: time is counted */
	int64_t ran_s; /* for so long the relay has run */
	size_t count, bytes;   /* events, and their bodies in Redis */
	size_t n_ready;        /* lanes */
	size_t bodies_bytes;   /* in memory */
	struct hash lanes;
	struct list ready, resting; /* lanes */
	struct list putting;        /* events */
	struct list brought, forgetting; /* … the latter under way */
	struct store_call *calls[WEBHOOK_ACTS]; /* under way */
	struct timer tick;
	struct task ask;
};

/* Loads what was kept before.  name is the relay's; events are copied. */
void webhook_queue_open(struct webhook_queue *queue, struct worker *worker,
    const char *name, const struct leadership *leader,
    const struct webhook_queue_events *events);
void webhook_queue_close(struct webhook_queue *queue);
/* Something is on its way to Redis. */
bool webhook_queue_is_busy(const struct webhook_queue *queue);

/*
 * Puts the first of these events, so many at most, and returns how many;
 * changed is called when Redis has them.  0: it is not loaded, or still puts
 * others.
 */
size_t webhook_queue_put(struct webhook_queue *queue,
    const struct relay_event *events, size_t count, size_t most);

/* The next lane that is ready: it is being tried from now on; or NULL. */
struct webhook_lane *webhook_queue_next(struct webhook_queue *queue);
struct webhook_event *webhook_queue_first(const struct webhook_lane *lane);
/* Reads the body of a lane's first event; done is set by the owner. */
void webhook_queue_read(
    struct webhook_read *read, const struct webhook_lane *lane);
/* Not wanted any more; always allowed. */
void webhook_queue_unread(struct webhook_read *read);
/* The first is done with; the lane may be gone then. */
void webhook_queue_done(struct webhook_lane *lane);
/*
 * A try of the first has failed; returns for how many seconds the relay has run
 * since it was put.
 */
int64_t webhook_queue_failed(struct webhook_lane *lane);
/* The lane is ready in ms; is_told: and not sooner. */
void webhook_queue_rest(struct webhook_lane *lane, int64_t ms, bool is_told);
/* All that rest are ready, but those that were told how long. */
void webhook_queue_wake(struct webhook_queue *queue);
