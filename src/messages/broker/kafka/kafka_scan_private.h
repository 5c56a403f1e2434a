/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/broker/kafka/kafka_scan.h"

/* For kafka_scan*.c alone: what a job does, in the thread of scans. */

enum { KAFKA_SCAN_ASK_MS = 5000 };

/* --- kafka_scan_run.c --- */

/* Its answer is in it, or words of why there is none. */
void kafka_scan_run(rd_kafka_t *consumer, struct kafka_scan_job *job);
/* Frees the job's messages from that one on. */
void kafka_scan_run_drop(
    struct kafka_scan_job *job, struct broker_message **from);

/* --- kafka_scan_topic.c --- */

/* The job has failed, for that; false. */
bool kafka_scan_topic_fail(struct kafka_scan_job *job, const char *topic,
    rd_kafka_resp_err_t error);
bool kafka_scan_topic_is_ours(
    const struct kafka_scan_job *job, struct span part);
/* How many partitions each topic of dead letters has. */
MUST_USE bool kafka_scan_topic_look(
    rd_kafka_t *consumer, struct kafka_scan_job *job);
/* What is finished of the letters that are not ours, if it matters. */
MUST_USE bool kafka_scan_topic_learn(
    rd_kafka_t *consumer, struct kafka_scan_job *job);
