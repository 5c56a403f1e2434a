/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <librdkafka/rdkafka.h>

#include "base/arena.h"
#include "base/field.h"
#include "loop/loop.h"

/*
 * A thread for what of librdkafka blocks: a producer's transactions, and the
 * end of a client.  It makes its producer when there is something to put, and
 * another one where that was fenced or has broken.  It knows no reader.  All
 * functions are for the thread of the loop.
 */
struct kafka_thread;

/* Something to be put; all of it is the batch's. */
struct kafka_record {
	char *topic;
	int32_t partition; /* or RD_KAFKA_PARTITION_UA: by its key */
	struct span key, body; /* ptr NULL: none */
	struct fields headers; /* values may have no ptr, too */
	struct kafka_batch *batch; /* that it is of */
};

/* A transaction: what is put, and what is committed with it. */
struct kafka_batch {
	struct arena *arena;
	struct kafka_record *records;
	size_t count;
	rd_kafka_topic_partition_list_t *offsets;
	rd_kafka_consumer_group_metadata_t *group;

	/* How it ended. */
	enum kafka_batch_end {
		KAFKA_BATCH_COMMITTED,
		KAFKA_BATCH_ABORTED, /* nothing of it has happened */
		KAFKA_BATCH_UNCLEAR, /* only what is committed tells */
	} end;
	bool refused;   /* the broker does not take the culprit */
	size_t culprit; /* the first one that was not taken */
	char words[160];
};

/* done(arg, batch) is called when a batch is over, unless arg has let go. */
struct kafka_thread *kafka_thread_new(struct loop *loop,
    rd_kafka_conf_t *producer,
    void (*done)(void *arg, struct kafka_batch *batch), void *arg);
/* Begins; one at a time.  The batch comes back by done(). */
void kafka_thread_begin(struct kafka_thread *thread, struct kafka_batch *batch);
void kafka_batch_free(struct kafka_batch **batch);
/*
 * It is not wanted any more: gives up a batch under way, frees its producer and
 * the consumer (or NULL), and then itself.  ended(arg) is called at that; NULL:
 * nobody waits.
 */
void kafka_thread_end(struct kafka_thread **thread, rd_kafka_t *consumer,
    void (*ended)(void *arg));
/*
 * All that have been ended go on without the loop, which is about to be freed;
 * ended() is not called any more.
 */
void kafka_thread_abandon(struct loop *loop);
