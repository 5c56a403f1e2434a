/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/must.h"
#include "base/span.h"

/*
 * Where a relay stands, as the metadata of a group's offset: whose turn it was,
 * and the places of a few shards, in their order.  Brokers take 4096 bytes at
 * most, and so many shards always fit.  Pure.
 */
enum {
	KAFKA_LEDGER_SHARDS = 64, /* that one offset tells of */
	KAFKA_LEDGER_TEXT_MAX = 4096,
};

struct kafka_ledger_place {
	bool known;       /* else nothing of that shard is there */
	uint64_t ms, seq; /* of the last entry that is there */
	int64_t count;    /* entries up to there; -1: not known */
};

/*
 * "1 TURN PLACE ...", numbers in hex, PLACE as MS-SEQ-COUNT, MS-SEQ or "-";
 * with a NUL.  n is 64 at most.  Returns the length.
 */
size_t kafka_ledger_place_write(int64_t turn,
    const struct kafka_ledger_place *places, size_t n,
    char ret_text[KAFKA_LEDGER_TEXT_MAX]);
/*
 * Of places that are missing nothing is known.  False: others have written
 * this; nothing is known then, and the turn is 0.
 */
bool kafka_ledger_place_read(struct span text, int64_t *ret_turn,
    struct kafka_ledger_place *ret_places, size_t n);
