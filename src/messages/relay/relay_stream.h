/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/timer.h"
#include "messages/relay/relay.h"
#include "store/store.h"

/*
 * Reads the streams of events of all shards, each in its order, by scripts that
 * find each shard's server as all others do (lua/relay_read.lua): many shards
 * at a time, but on a cluster, where each has a call of its own.  It asks again
 * at once where there was more than it might take, and ever more rarely where
 * there is nothing.  It sees what was trimmed, or otherwise lost, before it was
 * read.  It knows no relay.  A member of its owner; the store's thread.
 */

/* An entry, valid during the call that hands it over. */
struct relay_entry {
	struct relay_mark mark; /* behind it */
	size_t n_words;         /* name, value, name, … */
	struct span *words;
};

struct relay_stream_events {
	void (*took)(void *arg, const struct relay_entry *entry);
	/* A shard of which nothing was known begins there. */
	void (*began)(void *arg, const struct relay_mark *mark);
	/* So many entries were trimmed from a shard before they were read. */
	void (*lost)(void *arg, unsigned shard, uint64_t count);
	/* The stream of a shard was made anew, or has lost its end. */
	void (*again)(void *arg, unsigned shard);
	/* A reply was taken whole, or nothing could be read. */
	void (*settled)(void *arg);
	void *arg;
};

struct relay_stream {
	struct store *store;
	struct relay_stream_events events;
	struct relay_shard {
		struct relay_mark mark; /* read up to there */
		int64_t added; /* entries that it ever had, at the last look */
	} *shards;
	struct relay_group *groups; /* of shards that are read together */
	unsigned n_shards, n_groups;
	unsigned turn;      /* the group that is asked first next time */
	size_t room;        /* entries that may still be asked for */
	bool reads;         /* Redis has answered the last call */
	char trouble[160];  /* why not, or what is odd; "" for nothing */
	struct timer timer;
};

/*
 * Reads nothing yet.  marks: where it begins, one for each shard; copied.
 * events are copied.
 */
void relay_stream_start(struct relay_stream *stream, struct store *store,
    struct loop *loop, const struct relay_mark *marks,
    const struct relay_stream_events *events);
/* Zeroed memory is one that is stopped. */
void relay_stream_stop(struct relay_stream *stream);
/*
 * So many entries may be taken from now on, whatever was said before; those
 * that are on their way count.  0: it only looks how many there are.
 */
void relay_stream_room(struct relay_stream *stream, size_t room);
