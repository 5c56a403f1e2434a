/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/must.h"
#include "messages/broker/kafka/kafka_ring.h"

/*
 * A topic may be deleted and made again while it is read.  Where it has grown
 * beyond our position before it is looked at, it is read on there, and nobody
 * is told; but with a topic its brokers delete what groups have committed of
 * it.  So nothing is committed before it was seen, a moment ago, that our last
 * commit is still there.
 *
 * And a broker that leads a partition now may not have all that the one before
 * it had, as after an unclean election, or have been given older data, and may
 * have written on since.  So before a message of another one is taken, or the
 * next one after there was none, the last that was read is read again.
 *
 * Circle: kafka, kafka_doubt.  A reader has one as a member, which asks by it.
 */
struct kafka;

struct kafka_part;

/* Of a reader, by the loop's clock; all 0 at first. */
struct kafka_doubt {
	int64_t asked_ms; /* the last question */
	int64_t again_ms; /* not before, where its answer is none */
	int64_t sure_ms;  /* the last good answer */
};

enum { KAFKA_LEADER_UNKNOWN = -1, KAFKA_LEADER_DOUBTED = -2 };

/* Of a partition. */
struct kafka_sight {
	int32_t leader; /* who has sent the last message, or one of these */
	struct kafka_anchor last; /* that; offset below 0: unknown */
	bool doubts; /* it is asked for once more */
};

/* False: nothing is to be committed yet; it is asked, and then kicked. */
bool kafka_doubt_is_over(struct kafka *kafka);
/* What is committed is asked for, for whatever reason. */
void kafka_doubt_asked(struct kafka *kafka);
/* What is committed of the partitions that it has. */
void kafka_doubt_answered(
    struct kafka *kafka, const rd_kafka_topic_partition_list_t *list);

/* The partition's log may not be the one that was read. */
void kafka_doubt_log(struct kafka *kafka, const char *topic, int32_t number);
/*
 * What has come of a partition that is read: a message there, or the end.
 * False: it is not to be looked at, as the last one is asked for first.
 */
MUST_USE bool kafka_doubt_takes(struct kafka_part *part,
    const rd_kafka_message_t *message, uint32_t mark);
MUST_USE bool kafka_doubt_takes_end(struct kafka_part *part, int64_t offset);
