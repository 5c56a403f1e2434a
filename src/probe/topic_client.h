/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <librdkafka/rdkafka.h>

#include "conf/conf.h"

/*
 * What all clients of `doctor` that speak to a Kafka have in common: its
 * addresses, and the settings of the file.  It makes no connection.  Any
 * thread.
 */

/* For rd_kafka_new(), or rd_kafka_conf_destroy(). */
rd_kafka_conf_t *topic_client_conf(const struct conf_broker *broker);
/* A value that is known to be right. */
void topic_client_set(
    rd_kafka_conf_t *conf, const char *name, const char *value);
