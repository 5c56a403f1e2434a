/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <librdkafka/rdkafka.h>

#include "conf/conf.h"

/*
 * What all clients of `doctor` that speak to a Kafka have in common: its
 * addresses, and the settings of the file.  It makes no connection.  Any
 * thread.
 */

/* For topic_client_new(). */
rd_kafka_conf_t *topic_client_conf(const struct conf_broker *broker);
/*
 * A client with that configuration, which is its own from now on; one that
 * reads is asked for by rd_kafka_consumer_poll() alone.  NULL: not even that,
 * and ret_words, of so many bytes, say why (NULL and 0: to nobody).
 */
rd_kafka_t *topic_client_new(rd_kafka_type_t type, rd_kafka_conf_t *conf,
    char *ret_words, size_t size);
/* A value that is known to be right. */
void topic_client_set(
    rd_kafka_conf_t *conf, const char *name, const char *value);
