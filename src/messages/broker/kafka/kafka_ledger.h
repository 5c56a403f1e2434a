/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/loop/loop.h"
#include "conf/conf.h"

/*
 * A ledger is a topic of Kafka that a relay writes, and a group in which nobody
 * is a member, whose offset says where the relay stands in what it writes down:
 * its metadata has a place for each shard, of which brokers take 128 unless
 * they are told otherwise.  Messages and places are one transaction.  Its
 * transactional id is the same wherever the relay runs, so that who opens it
 * ends what another one has under way, and that one is fenced.  Its
 * transactions are a producer's (kafka_producer.h).  It does not know what the
 * messages are.  All functions are for the loop's own thread.
 */
struct kafka_ledger;

struct kafka_ledger_place {
	bool known;       /* else nothing of that shard is there */
	uint64_t ms, seq; /* of the last entry that is there */
	int64_t count;    /* entries up to there; -1: not known */
};

struct kafka_ledger_message {
	struct span key, value;
	/* In place of value, where the topic does not take one so large. */
	struct span less; /* ptr NULL: nothing */
};

/* What is put together; all of it is in the arena, as the batch is. */
struct kafka_ledger_batch {
	struct arena *arena;
	struct kafka_ledger_message *messages;
	size_t count;
	/* One for each shard; known: it has moved there. */
	struct kafka_ledger_place *places;
};

struct kafka_ledger_events {
	/*
	 * Once, before anything is put: where it stands, one place for each
	 * shard, valid during the call.
	 */
	void (*opened)(void *arg, const struct kafka_ledger_place *places);
	/* Whether it is up, or why not, is another. */
	void (*changed)(void *arg);
	/* Another one has opened it: nothing is taken any more. */
	void (*fenced)(void *arg);
	/* What was put is there. */
	void (*done)(void *arg);
	void *arg;
};

struct kafka_ledger_start {
	struct loop *loop;
	const struct conf_broker *broker; /* a reference to conf is taken */
	const struct conf *conf;          /* that it is of */
	const char *topic;
	/* Of whom the place is; all others have another one. */
	struct span store;
	const char *relay;
	int64_t turn; /* greater than that of all before it */
	unsigned shards;
	const struct kafka_ledger_events *events; /* copied */
};

struct kafka_ledger *kafka_ledger_open(const struct kafka_ledger_start *start);
/* What was put is given up; nulls the pointer, accepts NULL. */
void kafka_ledger_close(struct kafka_ledger **ledger);
/*
 * One at a time; it is tried until it is done, or the ledger is closed.  The
 * batch is the ledger's from now on.
 */
void kafka_ledger_put(
    struct kafka_ledger *ledger, struct kafka_ledger_batch *batch);

bool kafka_ledger_is_up(const struct kafka_ledger *ledger);
/* Why not; "" for nothing.  Valid until the next turn. */
const char *kafka_ledger_message(const struct kafka_ledger *ledger);
