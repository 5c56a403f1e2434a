/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/relay/relay.h"

/*
 * The target that is a table of PostgreSQL: a row for each event, by its id,
 * and the relay's position, in one transaction (broker/postgres_ledger.h).  The
 * worker's thread.
 */
extern const struct relay_target_kind relay_postgres_kind;
