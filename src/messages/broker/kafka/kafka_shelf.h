/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/broker/kafka/kafka_ring.h"

/*
 * Which dead letters of one partition of a source are finished.  No message of
 * a topic can be deleted, so that is remembered: for each partition of the
 * topic of dead letters a ring of what is known of it, of those letters alone
 * that are this source partition's.  It is written behind the ring of the
 * source's own partition, in the metadata of the same commit: so who has the
 * partition has its letters, a reader that was fenced finishes none, and what
 * a group still reads does not expire.  It knows no librdkafka.  A member of
 * its partition; one thread.
 */
enum {
	/* Of the metadata, for what is to be finished; and when it is full. */
	KAFKA_SHELF_MAX = 1000,
	KAFKA_SHELF_FULL = 800,
	/* What the partition's own ring has at least. */
	KAFKA_SHELF_RING_LEAST = 128,
};

struct kafka_shelf {
	struct kafka_shelf *next;
	int32_t number; /* of the partition of the topic of dead letters */
	struct kafka_ring ring;
};

/* The one of that number, which is made if there is none. */
struct kafka_shelf *kafka_shelf_at(struct kafka_shelf **list, int32_t number);
/* Nothing of it is known any more, nor finished. */
void kafka_shelf_reset(struct kafka_shelf *shelf);
void kafka_shelf_clear(struct kafka_shelf **list);

/*
 * What is finished, as text with a NUL; returns its length: 0 where nothing is,
 * -1 where it does not fit.  topic: the one of dead letters.
 */
int kafka_shelf_write(const struct kafka_shelf *list, const char *topic,
    bool putting, char ret_text[KAFKA_SHELF_MAX + 1]);
/*
 * The same of what is finished already, which takes what it needs: numbers grow
 * while letters are read, and a ring that leaves out messages has them come
 * again.  Partitions of letters that do not even fit so are left out.
 */
size_t kafka_shelf_tell(const struct kafka_shelf *list, const char *topic,
    bool putting, char ret_text[KAFKA_METADATA_MAX + 1]);
/*
 * How many offsets such a text says to be done with: more with each that is
 * finished.  0: it says nothing of that topic.
 */
int64_t kafka_shelf_count(const char *topic, struct span text);
/* Reads that; text of another topic, or of others, has nothing in it. */
void kafka_shelf_read(
    struct kafka_shelf **list, const char *topic, struct span text);
/* How long the ring's text may be beside one of that length. */
size_t kafka_shelf_beside(size_t text_len);
/*
 * Puts the text, where there is any, behind the ring's of that length; returns
 * the length of both.
 */
size_t kafka_shelf_join(char metadata[KAFKA_METADATA_MAX + 1], size_t len,
    struct span text);
/* Takes it apart again. */
void kafka_shelf_part(
    struct span metadata, struct span *ret_ring, struct span *ret_text);
