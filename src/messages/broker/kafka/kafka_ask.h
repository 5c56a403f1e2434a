/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <librdkafka/rdkafka.h>

#include "base/loop/loop.h"

/*
 * Questions to brokers, by a consumer of a group, in a thread of their own, as
 * they block: what the group has committed, whether topics are there and where
 * logs begin and end, what a topic is configured as.  The thread frees the
 * consumer, too.  It knows no reader.  All functions are for the thread of the
 * loop; answers come in the order of the questions.
 *
 * What is committed is asked for as a member asks, by no admin request:
 * librdkafka 2.0.2 ends the process where a coordinator is away for longer than
 * such a request may take.
 */
struct kafka_ask;

/* What becomes of a topic's old messages, as its cleanup.policy says. */
enum kafka_policy {
	KAFKA_POLICY_UNKNOWN,
	KAFKA_POLICY_DELETE,
	KAFKA_POLICY_COMPACT, /* perhaps among others */
};

/* A look at topics and logs. */
struct kafka_ask_look {
	size_t n_topics;
	size_t heard; /* the answer: of so many, the first ones, was told */
	struct kafka_ask_topic {
		char *name;
		/* Once it is there, the consumer is to know it at once. */
		bool wanted;
		bool holed;                /* its policy is wanted */
		rd_kafka_resp_err_t error; /* the answer */
		/* Who leads each partition; below 0: nobody does now. */
		int32_t *leaders;
		int n_leaders;
		enum kafka_policy policy;
		char words[160]; /* why it is unknown */
	} * topics;
	/*
	 * Of partitions of these; the answer: where their logs begin and end,
	 * as their leaders say, below 0 where that is not told.  Those that
	 * nobody leads are not in it any more.
	 */
	rd_kafka_topic_partition_list_t *begins, *ends;
};

struct kafka_ask_events {
	/*
	 * What is committed: the list that was asked for, or the error of all
	 * of it.
	 */
	void (*committed)(void *arg, rd_kafka_resp_err_t error,
	    rd_kafka_topic_partition_list_t *list);
	/* Of a reader of what is committed an end is before what is open. */
	void (*looked)(void *arg, const struct kafka_ask_look *look);
	void *arg;
};

/* NULL: there can be no thread, and the consumer is the caller's as before. */
struct kafka_ask *kafka_ask_new(struct loop *loop, rd_kafka_t *consumer,
    const struct kafka_ask_events *events);
/* The list is its own. */
void kafka_ask_committed(
    struct kafka_ask *ask, rd_kafka_topic_partition_list_t *list);
/* With names to be set, for free(), and partitions to be added. */
struct kafka_ask_look *kafka_ask_look_new(size_t n_topics);
/* It is its own, too. */
void kafka_ask_look(struct kafka_ask *ask, struct kafka_ask_look *look);
/* Nothing is answered any more.  Nulls the pointer. */
void kafka_ask_end(struct kafka_ask **ask);
