/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/record/event.h"

/*
 * How far a reader of the events is in the stream of one shard, what it has of
 * it and has not given on yet, and what was trimmed before it was read.  It
 * knows no connection, only replies; whatever those say is believed as far as
 * it makes sense.  Used by the owner's thread.
 */
struct redisReply;

struct events_event {
	struct event_id id;
	json_t *message;
};

struct events_shard {
	struct event_id position; /* of the last entry that was read */
	struct event_id end; /* of the last that there was at first */
	/* So many entries stand before what comes next; -1: not known. */
	int64_t passed;
	uint64_t first_ms; /* when the first was written that there was */
	bool looked_at;
	bool has_read; /* position is an entry's */
	bool more; /* there may be more to read */
	struct events_event *list;
	size_t count;
	size_t at; /* the next one of list to be given on */
};

/* Where to begin, the same in all shards but the shard of an entry. */
enum events_from { EVENTS_ALL, EVENTS_NOW, EVENTS_SINCE };

/* What XINFO STREAM of a shard showed. */
enum events_seen {
	EVENTS_WELL,
	EVENTS_GAP,  /* the beginning that was asked for may be trimmed */
	EVENTS_LOST, /* *ret_lost entries were trimmed before they were read */
	EVENTS_REWOUND, /* the stream no longer has what was read of it */
	EVENTS_NO_STREAM, /* the reply is none of XINFO STREAM */
};

/*
 * Reads a reply to XINFO STREAM, which comes before each page.  At the first
 * one reading begins where from says; of EVENTS_SINCE at since, or at the
 * beginning of its millisecond where since is of another shard.
 */
enum events_seen events_shard_look(struct events_shard *shard,
    const struct redisReply *info, enum events_from from,
    const struct event_id *since, int64_t *ret_lost);
/*
 * Takes entries, a list as XREAD has it, all of which must have been given on;
 * page is how many were asked for at most.  False: it is no such list.
 */
MUST_USE bool events_shard_take(struct events_shard *shard,
    const struct conf_store *conf,
    const struct redisReply *entries, size_t page);
/* Only entries up to the end that the first look saw are given on. */
void events_shard_stop_at_end(struct events_shard *shard);
/* The next one; NULL: it has none. */
const struct events_event *events_shard_first(
    const struct events_shard *shard);
/* Gives it on: the caller has its message now. */
json_t *events_shard_pop(struct events_shard *shard);
/* Frees what it holds. */
void events_shard_clear(struct events_shard *shard);
