/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/loop/loop.h"
#include "conf/conf.h"

/*
 * A ledger is a table of a PostgreSQL that a relay writes, and beside it
 * TABLE_position, with where the relay stands in what it writes down: a row for
 * each shard, and one (shard -1) that says whose turn it is.  Rows and position
 * are one transaction, which yields to a later turn.  It makes both tables
 * where they are not there, connects, and connects again, by itself.  It does
 * not know what the rows are.  The loop's own thread.
 */
struct postgres_ledger;

/* Where the relay stands in a shard. */
struct postgres_ledger_place {
	unsigned shard;
	struct span entry; /* as it was put */
	int64_t count;
};

struct postgres_ledger_events {
	/*
	 * On each connection, before anything is put by it: where the table
	 * stands; of shards that are missing it knows nothing.  places are
	 * valid during the call.  What was put by another connection is given
	 * up: places say whether it is there.
	 */
	void (*opened)(void *arg, const struct postgres_ledger_place *places,
	    size_t n_places);
	/* Whether it is up, or why not, is another. */
	void (*changed)(void *arg);
	/* A later turn has been here: nothing is taken any more. */
	void (*fenced)(void *arg);
	void *arg;
};

struct postgres_ledger_start {
	struct loop *loop;
	const struct conf_broker *broker; /* outlives it, as all texts do */
	const char *instance;
	const char *table; /* SCHEMA.TABLE or TABLE */
	/* Of whom the position is, beside others in the same table. */
	struct span store; /* copied */
	const char *relay;
	int64_t turn; /* greater than that of all before it */
	const struct postgres_ledger_events *events; /* copied */
};

struct postgres_ledger *postgres_ledger_open(
    const struct postgres_ledger_start *start);
/* What was put is given up; nulls the pointer, accepts NULL. */
void postgres_ledger_close(struct postgres_ledger **ledger);

/* A row: a JSON object, whose members are columns, and its id. */
struct postgres_ledger_row {
	struct span id, json;
};

struct postgres_ledger_put {
	const struct postgres_ledger_row *rows;
	size_t n_rows; /* or 0 */
	/*
	 * JSON: a list of {"shard", "entry", "count"}.  This and the rows live
	 * until it is over.
	 */
	struct span places;
	/* It is there. */
	void (*done)(struct postgres_ledger_put *put);
};
/*
 * One at a time, once the ledger was opened; until it is opened again.  What
 * the table refuses is tried again, every few seconds: nothing of it is there
 * until all of it is, and the message says which row is refused.
 */
void postgres_ledger_put(
    struct postgres_ledger *ledger, struct postgres_ledger_put *put);

bool postgres_ledger_is_up(const struct postgres_ledger *ledger);
/* Why not, or the last trouble; "" for none.  Valid until the next turn. */
const char *postgres_ledger_message(const struct postgres_ledger *ledger);
