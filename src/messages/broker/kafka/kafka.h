/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/broker/broker.h"

/*
 * The client of Kafka (BROKER_KAFKA), by librdkafka; kafka_private.h says what
 * it is made of.  It knows nothing of gates, routes and records.  The thread of
 * its loop; librdkafka has threads of its own, which never call us.
 */
extern const struct broker_client kafka_client;

/*
 * How many readers and relays of that loop were closed and still end, none of
 * them for long.  A drain waits for 0.
 */
size_t kafka_leave_count(const struct loop *loop);
/* They end by themselves, without the loop; before that is freed. */
void kafka_leave_abandon(struct loop *loop);
