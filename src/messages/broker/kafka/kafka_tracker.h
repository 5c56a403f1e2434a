/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/must.h"
#include "base/span.h"

/*
 * The offset tracker of a partition: what has been given of it and is not
 * finished, in the order of offsets.  Below the first of these all is finished:
 * that is the low-water mark, which is committed; what is finished above that
 * is told in the commit's metadata.  Offsets have
 * holes, so nothing is counted with them.  It knows no librdkafka.  A member of
 * its partition; one thread.
 *
 * An offset alone does not say which message stood there: a topic may have been
 * made again, a log may have lost its end.  So the metadata has one mark: of
 * the last message that is finished, which all that was finished before it
 * stands with, where it is, when it was made, and a hash of it.
 */
enum {
	KAFKA_METADATA_MAX = 4096, /* of a commit, as brokers have it */
	KAFKA_GAP_MAX = 10000,     /* given, from the first unfinished one on */
	KAFKA_STORE_MAX = 64,      /* of a store's id */
};

struct kafka_mark {
	int64_t offset; /* below 0: there is none */
	int64_t time_ms;
	uint32_t hash;
};

/* Offsets from one to another, the second not among them. */
struct kafka_range {
	int64_t from, to;
};

/* Where a partition's reader stood, as a commit or its copy tells it. */
struct kafka_stand {
	int64_t low; /* what is below is finished; below 0: nothing is known */
	bool ours;   /* else somebody has set it who is no reader of ours */
	char store[KAFKA_STORE_MAX + 1]; /* whose records it has; or "" */
	int64_t put_below; /* it was rewound from there; 0: it was not */
	struct kafka_mark mark;
	struct kafka_range *ranges; /* finished above low, in their order */
	size_t n_ranges;
};

/* One that is given and not finished. */
struct kafka_given {
	struct kafka_mark mark; /* where it stands, and what it is */
	uint64_t number;        /* so many were given before it */
	int64_t
	    finished_to; /* where what is finished before it ends; 0: none */
	bool putting;    /* it is, in a transaction */
};

struct kafka_tracker {
	/* In their order; between two of them all that was given is finished.
	 */
	struct kafka_given *list;
	size_t size, count;
	uint64_t given;         /* how many have been */
	int64_t finished_to;    /* the same, behind the last of the list */
	int64_t next;           /* what is given next is not below */
	struct kafka_mark mark; /* of the last that is finished */
	int64_t put_below;      /* results of what is there may have been put */
	struct kafka_range *kept; /* finished of what is not given yet */
	size_t n_kept;
	bool changed; /* since it was committed last */
};

/*
 * A message's hash is of its key, its value, and the names and values of its
 * headers, as an idempotency key may be one of these: each is mixed in.
 */
enum { KAFKA_TRACKER_HASH = 0x1dc9dc5 };
uint32_t kafka_tracker_mix(uint32_t hash, struct span s);

/* Begins where the stand says, whose ranges are the tracker's now. */
void kafka_tracker_init(
    struct kafka_tracker *tracker, struct kafka_stand *stand);
void kafka_tracker_clear(struct kafka_tracker *tracker);

/* What one that comes is. */
enum kafka_come {
	KAFKA_COME_NEW,      /* to be worked on */
	KAFKA_COME_FINISHED, /* finished before, and told so */
	KAFKA_COME_BACK,     /* below what has come already */
};
/* The next one has come; where it is NEW, it is among the given now. */
enum kafka_come kafka_tracker_add(
    struct kafka_tracker *tracker, const struct kafka_mark *mark);
/* All below that has come, though perhaps nothing stands there. */
void kafka_tracker_reach(struct kafka_tracker *tracker, int64_t next);
/*
 * The log begins there, behind what is given next: how many are lost that were
 * not finished.
 */
uint64_t kafka_tracker_lost(const struct kafka_tracker *tracker, int64_t begin);

/*
 * Among those that are not finished; NULL: it is not.  Its address is good
 * until the next call but this.
 */
struct kafka_given *kafka_tracker_find(
    const struct kafka_tracker *tracker, int64_t offset);
void kafka_tracker_finish(
    struct kafka_tracker *tracker, struct kafka_given *given);
/* Whether no more is to be read until something at the front is finished. */
bool kafka_tracker_is_full(const struct kafka_tracker *tracker);

/* What can be committed; putting: as if what is being put were finished. */
int64_t kafka_tracker_low(const struct kafka_tracker *tracker, bool putting);
/*
 * The metadata for the same commit, of at most KAFKA_METADATA_MAX bytes, with a
 * NUL.  Ranges that do not fit are left out: what they have comes again.
 */
void kafka_tracker_write(const struct kafka_tracker *tracker, bool putting,
    const char *store, char ret_text[KAFKA_METADATA_MAX + 1]);
/* Reads a commit; kafka_tracker_forget() frees what it has. */
void kafka_tracker_read(
    int64_t low, struct span metadata, struct kafka_stand *ret_stand);
void kafka_tracker_forget(struct kafka_stand *stand);
