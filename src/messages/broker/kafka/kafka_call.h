/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

/*
 * What brokers are asked, by calls that block: for threads of our own.  What
 * librdkafka says of itself, as that nobody answers, is below 0; what brokers
 * say is not.
 */

/* A list of one partition. */
rd_kafka_topic_partition_list_t *kafka_call_list(
    const char *topic, int32_t number, int64_t offset);
/*
 * A topic that is there: its only one, with partitions, of what was found, for
 * rd_kafka_metadata_destroy(); NULL: it is not, or is not told.
 */
rd_kafka_resp_err_t kafka_call_topic(rd_kafka_t *client, const char *name,
    int timeout_ms, const struct rd_kafka_metadata **ret_found);
/*
 * Where all the logs of a list begin, or end; side says which, as an offset of
 * librdkafka.  Of one that is not told, the offset is below 0; the error is the
 * first one's.
 */
rd_kafka_resp_err_t kafka_call_side(rd_kafka_t *client,
    rd_kafka_topic_partition_list_t *list, int64_t side, int timeout_ms);
/*
 * A setting of a broker or topic, for free(); NULL: it is not told, and the
 * words say why.
 */
char *kafka_call_setting(rd_kafka_t *client, rd_kafka_ResourceType_t type,
    const char *name, const char *setting, int timeout_ms, char *ret_words,
    size_t size);

/* Who and what is concerned, where something is refused. */
struct kafka_call_names {
	const char *topic, *group, *id; /* NULL: none is */
	bool writes;                    /* to that topic */
};
/*
 * What operators are told of an error.  True: they are to do something, as
 * there is no such topic, or no right to it; false: it is in librdkafka's
 * words.
 */
bool kafka_call_refused(rd_kafka_resp_err_t error,
    const struct kafka_call_names *names, char *ret_words, size_t size);
/* What librdkafka says, without how often and for how long. */
void kafka_call_words(const char *words, char *ret_words, size_t size);
