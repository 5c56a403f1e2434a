/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <librdkafka/rdkafka.h>

#include "base/arena.h"
#include "conf/conf.h"

/*
 * What librdkafka is told of each of our clients, and the names that a Kafka
 * knows us by, to which its administrators give rights.  Pure; any thread.  A
 * configuration is the caller's, until a client is made of it; a name for
 * free(), unless an arena has it.
 */
enum { KAFKA_WORDS_BYTES = 512 };

/* By which all members of a source's group share its partitions. */
#define KAFKA_CONF_PROTOCOL "range"

/* Where dead letters of that topic go; in the arena. */
const char *kafka_conf_dead(
    const struct conf_source *source, struct span topic, struct arena *arena);
/* The transactional id of a source. */
char *kafka_conf_id(const struct conf_source *source, const char *instance);
/*
 * The transactional id of a relay of that store (hexadecimal digits), which is
 * its group's name too; longer ones that begin with it are its other groups'.
 */
char *kafka_conf_relay_id(const char *relay, struct span store);

/*
 * A client of that configuration, which is the client's, or freed.  NULL: it
 * cannot be made; why is in words.
 */
rd_kafka_t *kafka_conf_client(rd_kafka_type_t type, rd_kafka_conf_t *conf,
    char words[KAFKA_WORDS_BYTES]);
/*
 * The member of a source's group.  memory: what all messages of the gateway may
 * take, of which a partition's own queue has a small part.  NULL as above.
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
