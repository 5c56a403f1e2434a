/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <librdkafka/rdkafka.h>

#include "conf/conf.h"

/*
 * What librdkafka is told of each of our clients.  Pure; any thread.  A
 * configuration is the caller's, until a client is made of it.
 */
enum { KAFKA_WORDS_BYTES = 512 };

/*
 * The member of a source's group.  memory: what all messages of the gateway may
 * take, of which a partition's own queue has a small part.  NULL: it cannot be
 * made; why is in words.
 */
rd_kafka_t *kafka_conf_consumer(const struct conf_source *source,
    const char *instance, int64_t memory, char words[KAFKA_WORDS_BYTES]);
/* Of the producer of what its messages lead to. */
rd_kafka_conf_t *kafka_conf_producer(
    const struct conf_source *source, const char *instance);
/* Of any producer with that name and transactional id. */
rd_kafka_conf_t *kafka_conf_transactions(
    const struct conf_broker *broker, const char *client, const char *id);
/* Of who asks what a group has committed, or reads, and is no member. */
rd_kafka_conf_t *kafka_conf_asker(
    const struct conf_broker *broker, const char *client, const char *group);
