/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/must.h"
#include "base/span.h"

/*
 * What has been given of a partition and is not committed: offsets in their
 * order, each finished or not.  All that is finished from the front on is below
 * the low-water mark, which is committed; what is finished above it is told in
 * the commit's metadata.  Offsets have holes, so nothing is counted with them.
 * It knows no librdkafka.  A member of its partition; one thread.
 *
 * An offset alone does not say which message stood there: a topic may have been
 * made again.  So each position that is kept comes with an anchor, an offset
 * near it and the mark of the message there (kafka_ring_mark); where the
 * message has another mark, nothing of what was kept holds.
 *
 * What is not told as finished was not finished before: so much is sure from
 * one commit to the next, and ends where somebody else sets the group, or where
 * not all of it can be told.  So commits have the number of their era, which is
 * another one then.  Of what was done in an era before, nobody can say whether
 * it was finished.
 */
enum {
	KAFKA_METADATA_MAX = 4096, /* of a commit, as brokers have it */
	KAFKA_GAP_MAX = 10000,     /* given, from the first unfinished one on */
	KAFKA_ANCHORS_MAX = 32,
	KAFKA_FLOOR_BYTES = 64 + KAFKA_ANCHORS_MAX * 32, /* of its text */
};

struct kafka_anchor {
	int64_t offset; /* below 0: there is none */
	uint32_t mark;
};

/* Some that are finished, before an anchor: the fewer the further back. */
struct kafka_anchors {
	struct kafka_anchor list[KAFKA_ANCHORS_MAX]; /* in their order */
	size_t count;
	bool cut; /* what was finished before the first, nobody knows */
};

/*
 * What a floor says; low below 0: nothing.  Compaction may take away the
 * message at its anchor: then an older one that is there says as well that
 * this is the topic that was read.
 */
struct kafka_floor {
	int64_t low;
	struct kafka_anchor anchor;
	struct kafka_anchors older;
};

/* Offsets from one to another, the second not among them. */
struct kafka_range {
	int64_t from, to;
};

/* Where a partition's reader stood, as a commit tells it. */
struct kafka_stand {
	int64_t low; /* what is below is finished; below 0: nothing is known */
	bool foreign; /* somebody has set it who is no reader of ours */
	uint32_t era; /* 0: since the beginning */
	struct kafka_anchor anchor;
	bool sure; /* the anchor is not looked at any more */
	struct kafka_range *ranges; /* finished above low, in their order */
	size_t n_ranges;
	/* The last that is finished above low; offset below 0: not told. */
	struct kafka_anchor top;
};

enum kafka_given_state { KAFKA_UNFINISHED, KAFKA_PUTTING, KAFKA_FINISHED };

struct kafka_given {
	int64_t offset;
	uint32_t mark;
	enum kafka_given_state state;
};

struct kafka_ring {
	struct kafka_given *list; /* size places, a power of two */
	size_t size, first, count;
	size_t n_finished;
	int64_t next; /* what is given next is not below; below 0: unknown */
	struct kafka_anchor anchor; /* the last one below the low-water mark */
	struct kafka_anchors older; /* before that */
	struct kafka_stand kept; /* what is told of what is not given yet */
	uint32_t era; /* its owner sets both */
	uint32_t next_era; /* begins with a commit that leaves something out */
	bool changed; /* since it was committed last */
	bool tells_top; /* its owner sets it: what is committed has a top */
};

/*
 * A message's mark: what tells it from another one at the same offset of a
 * topic that was made again.  Of its time, its key and its value, and of its
 * headers, as an idempotency key may be one.
 */
uint32_t kafka_ring_mark(int64_t time_ms, struct span key, struct span value);
/* That of one with one header more. */
uint32_t kafka_ring_mark_header(
    uint32_t mark, struct span name, struct span value);

/* Begins at the stand, whose ranges are the ring's now. */
void kafka_ring_init(struct kafka_ring *ring, struct kafka_stand *stand);
void kafka_ring_clear(struct kafka_ring *ring);

/*
 * What is told of what is not given yet holds only where the message at its
 * anchor is the one it was.  True, before the next one is added: it is not, or
 * there is none, as after a compaction, and nothing of that holds any more.
 */
bool kafka_ring_doubts(struct kafka_ring *ring, int64_t offset, uint32_t mark);

/* What one that comes is. */
enum kafka_come {
	KAFKA_COME_NEW,      /* to be worked on */
	KAFKA_COME_FINISHED, /* finished before, and told so */
	KAFKA_COME_BACK,     /* below what has come already */
};
/* The next one has come; it is among the given now, unless it is BACK. */
enum kafka_come kafka_ring_add(
    struct kafka_ring *ring, int64_t offset, uint32_t mark);
/* All below that has come, though perhaps nothing stands there. */
void kafka_ring_reach(struct kafka_ring *ring, int64_t next);

/*
 * The log begins there now, behind what is given next: how many are lost that
 * were not finished.  A log that begins behind the anchor is the one that was
 * read: no new one begins so late.
 */
uint64_t kafka_ring_cut(struct kafka_ring *ring, int64_t begin);

/* Among the given; NULL: it is not there, or below the low-water mark. */
struct kafka_given *kafka_ring_find(
    const struct kafka_ring *ring, int64_t offset);
void kafka_ring_set(struct kafka_ring *ring, struct kafka_given *given,
    enum kafka_given_state state);

/* The one with that number, of count, from the front on. */
struct kafka_given *kafka_ring_at(const struct kafka_ring *ring, size_t i);
/* Putting: as if what is being put were finished; so below, too. */
bool kafka_ring_is_over(const struct kafka_given *given, bool putting);
/* How many are below the low-water mark that is to be. */
size_t kafka_ring_count_over(const struct kafka_ring *ring, bool putting);

/* Whether no more is to be read until something at the front is finished. */
bool kafka_ring_is_full(const struct kafka_ring *ring);
/* What can be committed. */
int64_t kafka_ring_low(const struct kafka_ring *ring, bool putting);
/* The anchor of that; offset below 0: there is none. */
struct kafka_anchor kafka_ring_anchor(
    const struct kafka_ring *ring, bool putting);
/*
 * The metadata for the same commit, of at most KAFKA_METADATA_MAX bytes, with a
 * NUL; returns its length.  What does not fit is left out: it will come again.
 */
size_t kafka_ring_text_write(const struct kafka_ring *ring, bool putting,
    size_t most, char ret_text[KAFKA_METADATA_MAX + 1]);
/* Reads a commit; metadata of others has no anchor and no ranges. */
void kafka_ring_text_read(
    int64_t low, struct span metadata, struct kafka_stand *ret_stand);
void kafka_ring_forget(struct kafka_stand *stand);

/* The floor of the same commit. */
struct kafka_floor kafka_ring_floor(
    const struct kafka_ring *ring, bool putting);
/* One more, unless it is not behind all of them. */
void kafka_ring_floor_note(
    struct kafka_anchors *older, struct kafka_anchor anchor);
/* As text, with a NUL. */
void kafka_ring_floor_write(
    const struct kafka_floor *floor, char ret_text[KAFKA_FLOOR_BYTES]);
/* Takes that off the front; false: there is none. */
MUST_USE bool kafka_ring_floor_read(
    struct span *text, struct kafka_floor *ret_floor);
