/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/broker/driver.h"

/*
 * The driver of Kafka (BROKER_KAFKA), by librdkafka; kafka_private.h says what
 * it is made of.  It knows nothing of gates, routes and records.  The thread of
 * its loop; librdkafka has threads of its own, which never call us.
 */
extern const struct driver kafka_driver;
