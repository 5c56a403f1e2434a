/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <librdkafka/rdkafka.h>

#include "base/arena.h"
#include "base/field.h"
#include "messages/broker/kafka/kafka_conf.h"
#include "messages/broker/kafka/kafka_thread.h"

/*
 * Transactions, in a thread of their own, as their calls block: what readers
 * put, and what relays bring.  The client is made when it is first wanted, and
 * anew where it was fenced or has broken; with it ends what one of its name
 * before has left open.  It knows neither readers nor relays.  The functions
 * are for the thread of the loop.
 */
struct kafka_producer;

/* Something to be put; all of it is the batch's. */
struct kafka_record {
	const char *topic;
	struct span key, body;     /* ptr NULL: none */
	struct fields headers;     /* values may have no ptr, too */
	struct kafka_batch *batch; /* that it is of */
};

/*
 * A transaction: what is put, and what is committed with it.  One of nothing
 * only has the client made.
 */
struct kafka_batch {
	struct kafka_job job;
	struct kafka_producer *producer;
	struct arena *arena;
	struct kafka_record *records;
	size_t count;
	/* What is committed with it, of one group; NULL: nothing. */
	rd_kafka_topic_partition_list_t *offsets;
	rd_kafka_consumer_group_metadata_t *group;
	const char *group_name;

	/* How it ended. */
	enum kafka_batch_end {
		KAFKA_BATCH_COMMITTED,
		KAFKA_BATCH_ABORTED, /* nothing of it has happened */
		KAFKA_BATCH_UNCLEAR, /* only what is committed tells */
	} end;
	const struct kafka_record *refused; /* is not taken; NULL: none */
	bool too_large; /* that is why: for its size, or that of all of them */
	/* None of them is taken: we may not do that, or there is no topic. */
	bool denied;
	bool fenced;              /* somebody else has the name now */
	rd_kafka_resp_err_t code; /* of the call that failed */
	char words[KAFKA_WORDS_BYTES];
};

/* Its arena has room for so many; the owner sets the rest. */
struct kafka_batch *kafka_producer_batch(size_t records);
void kafka_producer_free_batch(struct kafka_batch **batch);

struct kafka_producer_start {
	struct loop *loop;
	/* One that is fenced is over; else it has another name then. */
	bool sole;
	/* Is called when a batch is over, which is arg's then. */
	void (*done)(void *arg, struct kafka_batch *batch);
	void *arg;
};
/*
 * The configuration is its own.  NULL: the system has no thread to give now.
 */
struct kafka_producer *kafka_producer_new(
    const struct kafka_producer_start *start, rd_kafka_conf_t *conf);
/* The batch comes back by done(). */
void kafka_producer_begin(
    struct kafka_producer *producer, struct kafka_batch *batch);
/* That is to be done in its thread, in its turn. */
void kafka_producer_add(struct kafka_producer *producer, struct kafka_job *job);
/* Gives up a batch under way: nothing is told any more.  Nulls the pointer. */
void kafka_producer_end(struct kafka_producer **producer);
