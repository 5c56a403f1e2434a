/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/broker/relay_target.h"

/*
 * A ledger is a table of a PostgreSQL that a relay writes, and beside it
 * TABLE_position, with where the relay stands: a row for each shard, and one
 * (shard -1) that says which term it is.  Rows and position are one
 * transaction, which yields to a later term.  It makes both tables where they
 * are not there.  What the table refuses is tried again, every few seconds:
 * nothing of it is there until all of it is, and the message says which event
 * is refused.
 */
extern const struct relay_target_kind postgres_ledger_kind;
