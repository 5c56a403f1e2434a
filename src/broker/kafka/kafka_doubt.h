/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A topic may be deleted and made again while it is read.  Where it has grown
 * beyond our position before it is looked at, it is read on there, and nobody
 * is told; but with a topic its brokers delete what groups have committed of
 * it.  So nothing is committed before it was seen, a moment ago, that our last
 * commit is still there.
 *
 * Circle: kafka, kafka_doubt.  A reader has one as a member, which asks by it.
 */
struct kafka;

/* Of a reader, by the loop's clock; all 0 at first. */
struct kafka_doubt {
	int64_t asked_ms; /* the last question */
	int64_t again_ms; /* not before, where its answer is none */
	int64_t sure_ms;  /* the last good answer */
};

/* False: nothing is to be committed yet; it is asked, and then kicked. */
bool kafka_doubt_is_over(struct kafka *kafka);
/* What is committed is asked for, for whatever reason. */
void kafka_doubt_asked(struct kafka *kafka);
/* What is committed of the partitions that it has. */
void kafka_doubt_answered(
    struct kafka *kafka, const rd_kafka_topic_partition_list_t *list);
