/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/timer.h"
#include "messages/broker/relay_target.h"
#include "store/record/event.h"
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

/* An entry, valid during the call that hands it over. */
struct relay_entry {
	unsigned shard;
	struct relay_place place; /* behind it */
	/* None: it is only where a shard begins of which nothing was known. */
	size_t n_fields;
	const struct event_field *fields;
};

struct relay_stream_events {
	/* How many entries may be taken now. */
	size_t (*room)(void *arg);
	void (*took)(void *arg, const struct relay_entry *entry);
	/* So many entries were trimmed before they were read. */
	void (*lost)(
	    void *arg, enum event event, uint64_t count, const char *why);
	/* A reply was taken whole, or nothing could be read. */
	void (*settled)(void *arg);
	/* A later term has saved its own place. */
	void (*fenced)(void *arg);
};

struct relay_stream {
	struct store *store; /* NULL: it is stopped */
	const struct relay_stream_events *events;
	void *arg;        /* of these */
	const char *name; /* the relay's */
	int64_t term;     /* of its leadership */
	struct relay_shard {
		bool heard;               /* it is known where it stands */
		struct relay_place at;    /* read up to there */
		struct relay_place saved; /* there, or to be so … */
		bool moved;               /* … since it was last sent */
		int64_t added; /* entries that it ever had, at the last look */
	} *shards;
	struct relay_group *groups; /* of shards that are read together */
	unsigned n_shards, n_groups;
	bool reads;        /* else it looks how many there are */
	unsigned next;     /* the group that is asked first next time */
	size_t asked;      /* entries that may be on their way */
	char trouble[160]; /* why nothing is read, or what is odd; "" */
	struct timer timer;
};

/*
 * Reads from where the relay stood when that was last saved; or, reads being
 * false, only looks how many there are.  name and events live as long.
 */
void relay_stream_start(struct relay_stream *stream, struct store *store,
    struct loop *loop, const char *name, int64_t term, bool reads,
    const struct relay_stream_events *events, void *arg);
/* Saves what has moved, and hears no answer; zeroed memory is stopped. */
void relay_stream_stop(struct relay_stream *stream);
/*
 * Reads from there on, from now on, one place for each shard, copied, and saves
 * these.
 */
void relay_stream_read(
    struct relay_stream *stream, const struct relay_place *places);
/* There may be room again. */
void relay_stream_wake(struct relay_stream *stream);
/* All up to these, where known, was brought; to be saved soon. */
void relay_stream_brought(
    struct relay_stream *stream, const struct relay_place *places);
/* How many entries it has not read; -1: it is not known. */
int64_t relay_stream_behind(const struct relay_stream *stream);

/*
 * Where claims are refused for the sake of relays, one that is gone must not be
 * waited for: forgets where relays stood that the configuration does not have,
 * so that nothing is kept for them any more.  One worker says so; what Redis
 * does not hear of this the next start says again.
 */
void relay_stream_forget(struct store *store, const struct conf *conf);
