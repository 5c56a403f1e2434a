/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/relay/relay.h"

/*
 * The target that is a topic of Kafka: a message for each event, and the
 * relay's position, in one transaction (broker/kafka/kafka_ledger.h).  The
 * worker's thread.
 */
extern const struct relay_target_kind relay_kafka_kind;
