/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/timer.h"
#include "messages/relay/relay.h"
#include "store/store.h"

/*
 * Where a relay stands, in Redis, beside each shard's stream of events
 * (lua/relay_place.lua): for targets that do not remember it, and so that
 * whoever trims a stream knows what every relay has.  What was saved by a later
 * turn is not overwritten.  A member of its owner; the store's thread.
 */
struct relay_place_events {
	/* Where it stands: one mark for each shard, valid during the call. */
	void (*loaded)(void *arg, const struct relay_mark *marks);
	/* A later turn has saved its own place. */
	void (*fenced)(void *arg);
	void *arg;
};

struct relay_place {
	struct store *store;
	struct relay_place_events events;
	const char *name;   /* its owner's */
	int64_t turn;       /* the number */
	int64_t every_ms;   /* how often it is saved */
	struct relay_place_shard {
		struct relay_mark mark;
		bool moved; /* since it was last sent */
	} *shards;
	unsigned n_shards;
	struct relay_place_call *calls; /* one for each group of shards */
	unsigned n_calls;
	bool loading;
	unsigned loaded; /* shards */
	struct timer timer;
};

/* Nothing is loaded or saved yet; events are copied. */
void relay_place_start(struct relay_place *place, struct store *store,
    struct loop *loop, const char *name, int64_t turn, int64_t every_ms,
    const struct relay_place_events *events);
/* Saves what has moved, and hears no answer; zeroed memory is stopped. */
void relay_place_stop(struct relay_place *place);
/* loaded is called once, when Redis has said it; it is asked until then. */
void relay_place_load(struct relay_place *place);
/* What Redis says is not wanted any more: loaded is not called. */
void relay_place_known(struct relay_place *place);
/* The relay stands there now; to be saved soon. */
void relay_place_move(
    struct relay_place *place, const struct relay_mark *mark);
/*
 * Forgets where relays stood that the configuration does not have: nothing is
 * kept for them any more.  What Redis does not hear of this the next start says
 * again.
 */
void relay_place_keep(struct store *store, const struct conf *conf);
