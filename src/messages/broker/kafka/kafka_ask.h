/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <librdkafka/rdkafka.h>

#include "base/loop/loop.h"

/*
 * A thread for what of a consumer blocks: the questions what its group has
 * committed, whether topics are there and where partitions end, and its own
 * end.  It knows no reader.
 * All functions are for the thread of the loop.
 *
 * No admin request asks that: librdkafka 2.0.2 ends the process where a
 * coordinator is away for longer than such a request may take.
 */
struct kafka_ask;

/* A question about topics. */
struct kafka_ask_topics {
	size_t count; /* in the answer: of those that were answered */
	size_t size;
	struct kafka_ask_topic {
		char *name;
		/* Once it is there, the consumer is to know it at once. */
		bool wanted;
		rd_kafka_resp_err_t error; /* the answer */
		/* Who leads each partition; below 0: nobody does now. */
		int32_t *leaders;
		int n_leaders;
	} list[];
};
/* With names to be set, for free(). */
struct kafka_ask_topics *kafka_ask_topics_new(size_t count);

struct kafka_ask_events {
	/*
	 * What is committed: the list that was asked for, or the error of all
	 * of it.
	 */
	void (*answered)(void *arg, rd_kafka_resp_err_t error,
	    rd_kafka_topic_partition_list_t *list);
	void (*topics)(void *arg, const struct kafka_ask_topics *topics);
	/* The ends; below 0: not known. */
	void (*ends)(void *arg, rd_kafka_topic_partition_list_t *list);
	void *arg;
};

/*
 * NULL: there can be no thread, and the consumer is the caller's as before.
 */
struct kafka_ask *kafka_ask_new(struct loop *loop, rd_kafka_t *consumer,
    const struct kafka_ask_events *events);
/* One question at a time; the list is its own until it is answered. */
void kafka_ask_begin(
    struct kafka_ask *ask, rd_kafka_topic_partition_list_t *list);
/* The same, of topics; beside the other one. */
void kafka_ask_topics_begin(
    struct kafka_ask *ask, struct kafka_ask_topics *topics);
/*
 * The same, of where partitions end, as their leaders say; not empty.  For a
 * reader of what is committed that is before what is open.
 */
void kafka_ask_ends_begin(
    struct kafka_ask *ask, rd_kafka_topic_partition_list_t *list);
/*
 * It is not wanted any more: nothing is answered, it frees the consumer, and
 * then itself.  ended(arg) is called at that; NULL: nobody waits.
 */
void kafka_ask_end(struct kafka_ask **ask, void (*ended)(void *arg));
/*
 * All that have been ended go on without the loop, which is about to be freed;
 * ended() is not called any more.
 */
void kafka_ask_abandon(struct loop *loop);
