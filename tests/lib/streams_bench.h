/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "lib/redis.h"
#include "messages/broker/broker.h"

/*
 * Readers of one stream (s, with the results r and the dead letters d) on one
 * loop, and a real redis-server under them.  A failure here fails the test.
 */
struct sbench;

/* A reader, and what its owner was told; the bench frees it. */
struct sbench_reader {
	struct sbench_reader *next;
	struct sbench *bench;
	struct broker_reader *reader;
	/* What it was handed and has not finished, in that order. */
	struct broker_message *first, **end;
	unsigned taken;
	uint64_t lost[BROKER_LOSS_COUNT_];
	char lost_position[64]; /* of the last one; "": none */
	unsigned changed, origins;
	char origin[64]; /* the last that it heard of */
	unsigned taken_before_origin;
	bool closes; /* at the next message */
};

struct sbench {
	struct redis *redis; /* NULL: the test's own servers */
	struct loop *loop;
	const struct conf *conf;
	struct conf_broker broker;
	struct conf_source source;
	bool sole;          /* for readers to come, as the next three */
	int64_t lease_ms;
	size_t most_bytes;
	unsigned credit;
	struct sbench_reader *readers;
	struct sbench_finish *finishes;
};

enum { SBENCH_LEASE_MS = 60000, SBENCH_TIMEOUT_MS = 20000 };

/*
 * where is what stands in the configuration of a store, such as "\"redis\":
 * \"redis://…\""; NULL: of a server of its own, started with these options.
 */
struct sbench *sbench_new(const char *where, const char *const *options);
/* Closes all readers, and waits until they are gone. */
void sbench_free(struct sbench **bench);

/* For cmocka: *state is a bench with a server of its own, which it frees. */
int sbench_set_up(void **state);
/* The same, of a server that keeps what it has over its death. */
int sbench_set_up_lasting(void **state);
int sbench_tear_down(void **state);

struct sbench_reader *sbench_open(
    struct sbench *bench, const char *instance);
/* Of any size. */
void sbench_credit(struct sbench_reader *r, unsigned messages);
/* Closes it, and waits until it has given back what it had. */
void sbench_close(struct sbench_reader *r);
/* Frees what it was handed, as an owner does that is gone. */
void sbench_forget(struct sbench_reader *r);

/* Runs the loop for a moment. */
void sbench_turn(struct sbench *bench);
#define UNTIL(bench, condition)                                               \
	do {                                                                  \
		int64_t end_us_ = clock_us() + 40000000;                      \
		while (!(condition)) {                                        \
			if (clock_us() > end_us_)                             \
				fail_msg("never: %s", #condition);            \
			sbench_turn(bench);                                    \
		}                                                             \
	} while (0)

/* Adds so many entries, "n" 1 and so on, by the test's connection. */
void sbench_add(struct sbench *bench, int count);
bool sbench_is_up(const struct sbench_reader *r);
/* The value of a field; "" where there is none. */
const char *sbench_field(
    const struct broker_message *message, const char *name);
/* Takes the first message that it was handed off its list. */
struct broker_message *sbench_shift(struct sbench_reader *r);

/* A finish that the test waits for; the bench frees it. */
struct sbench_finish {
	struct sbench_finish *next;
	struct broker_finish finish;
	char position[64]; /* it outlives its message */
	bool woken;
};
struct sbench_finish *sbench_finish_new(struct sbench *bench);
void sbench_finish_start(struct sbench_reader *r, struct sbench_finish *f,
    const struct broker_message *message, const struct broker_put *put);
/* Starts it and waits; the error, 0 for none. */
int sbench_finish(struct sbench_reader *r, struct sbench_finish *f,
    const struct broker_message *message, const struct broker_put *put);
/* Finishes the first that it was handed, and frees it: it must succeed. */
void sbench_finish_first(struct sbench_reader *r);
/*
 * How many entries are pending for that consumer, "": for all; -1: there is no
 * group.
 */
long long sbench_pending(struct sbench *bench, const char *consumer);
