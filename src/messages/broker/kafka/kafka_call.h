/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <librdkafka/rdkafka.h>

/*
 * What brokers are asked, by calls that block: for threads of our own.  What
 * librdkafka says of itself, as that nobody answers, is below 0; what brokers
 * say is not.
 */

/*
 * Whether a topic is there, and who leads each of its partitions; below 0:
 * nobody does now.  leaders is for free().
 */
rd_kafka_resp_err_t kafka_call_topic(rd_kafka_t *client, const char *name,
    int timeout_ms, int32_t **ret_leaders, int *ret_count);
/*
 * Where all the logs of a list begin, or end; side says which, as an offset of
 * librdkafka.  Of one that is not told, the offset is below 0; the error is the
 * first one's.
 */
rd_kafka_resp_err_t kafka_call_side(rd_kafka_t *client,
    rd_kafka_topic_partition_list_t *list, int64_t side, int timeout_ms);
