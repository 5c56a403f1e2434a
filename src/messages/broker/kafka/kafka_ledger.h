/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/broker/relay_target.h"

/*
 * A ledger is a topic of Kafka that a relay writes, and a group in which nobody
 * is a member, whose offset says where the relay stands: its metadata has a
 * place for each shard, of which brokers take 128 unless they are told
 * otherwise.  Messages and places are one transaction.  Its transactional id is
 * the same wherever the relay runs, so that who opens it ends what another one
 * has under way, and that one is fenced.  Its transactions are a producer's
 * (kafka_producer.h).
 */
extern const struct relay_target_kind kafka_ledger_kind;
