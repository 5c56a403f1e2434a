/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/timer.h"
#include "store/store.h"

/*
 * The streams of events of all shards, as a relay reads them, each in its
 * order, and where the relay stands in them, which Redis keeps beside each
 * (lua/relay.lua): for targets that do not remember it, and so that whoever
 * trims a stream knows what every relay has.  Many shards are read at a time,
 * but on a cluster, where each has a call of its own; again at once where there
 * was more than might be taken, and ever more rarely where there is nothing;
 * and what is to be saved goes with that.  It sees what was trimmed, or
 * otherwise lost, before it was read.  It knows no target.  A member of its
 * owner; the store's thread.
 */

/* Where a relay stands in a shard's stream: behind that entry. */
struct relay_position {
	unsigned shard;
	uint64_t ms, seq; /* of the entry; 0-0: before the first */
	/*
	 * How many entries the stream has ever had up to there; so it is seen
	 * what was trimmed before it was read.  -1: not known yet.
	 */
	int64_t count;
};

/* An entry, valid during the call that hands it over. */
struct relay_entry {
	struct relay_position position; /* behind it */
	size_t n_words;                 /* name, value, name, … */
	struct span *words;
};

struct relay_stream_events {
	/* Where it stood when that was last saved, for each shard. */
	void (*loaded)(void *arg, const struct relay_position *positions);
	void (*took)(void *arg, const struct relay_entry *entry);
	/* A shard of which nothing was known begins there. */
	void (*began)(void *arg, const struct relay_position *position);
	/* So many entries were trimmed from a shard before they were read. */
	void (*lost)(void *arg, unsigned shard, uint64_t count);
	/* The stream of a shard was made anew, or has lost its end. */
	void (*again)(void *arg, unsigned shard);
	/* A reply was taken whole, or nothing could be read. */
	void (*settled)(void *arg);
	/* A later term has saved its own position. */
	void (*fenced)(void *arg);
	void *arg;
};

struct relay_stream {
	struct store *store; /* NULL: it is stopped */
	struct relay_stream_events events;
	const char *name; /* the relay's */
	int64_t term;     /* of its leadership */
	int64_t save_ms;  /* a position is saved within that time */
	struct relay_shard {
		struct relay_position position; /* read up to there */
		struct relay_position brought;  /* to be saved */
		bool moved;    /* since it was last sent */
		int64_t added; /* entries that it ever had, at the last look */
	} *shards;
	struct relay_group *groups; /* of shards that are read together */
	unsigned n_shards, n_groups;
	unsigned loading;  /* groups that Redis has not told of yet */
	bool reads;        /* else it loads, and looks how many there are */
	unsigned next;     /* the group that is asked first next time */
	size_t room;       /* entries that may still be asked for */
	char trouble[160]; /* why nothing is read, or what is odd; "" */
	struct timer timer;
};

/*
 * Loads the positions; then only looks how much there is.  name lives as long;
 * events are copied.
 */
void relay_stream_start(struct relay_stream *stream, struct store *store,
    struct loop *loop, const char *name, int64_t term, int64_t save_ms,
    const struct relay_stream_events *events);
/* Saves what has moved, and hears no answer; zeroed memory is stopped. */
void relay_stream_stop(struct relay_stream *stream);
/*
 * Reads from there on, one position for each shard, copied, and saves these;
 * loaded is not called any more.  Again: from elsewhere.
 */
void relay_stream_read(
    struct relay_stream *stream, const struct relay_position *positions);
/*
 * So many entries may be taken from now on, whatever was said before; those
 * that are on their way count.  0: it only looks how many there are.
 */
void relay_stream_room(struct relay_stream *stream, size_t room);
/* All up to there was brought; to be saved soon. */
void relay_stream_brought(
    struct relay_stream *stream, const struct relay_position *position);
/* How many entries it has not read; -1: nothing is known. */
int64_t relay_stream_behind(const struct relay_stream *stream);

/*
 * Forgets where relays stood that the configuration does not have: nothing is
 * kept for them any more.  What Redis does not hear of this the next start says
 * again.
 */
void relay_stream_forget(struct store *store, const struct conf *conf);
