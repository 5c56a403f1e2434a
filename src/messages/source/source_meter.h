/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/histogram.h"
#include "messages/broker/broker.h"
#include "store/record/key_set.h"

/*
 * What is counted of a source, for GET /metrics and /sources.  Its worker's
 * thread counts; the admin interface reads at any time.  A series goes by the
 * source's name, so that it goes on over a reload; series are only ever added.
 */
enum message_outcome {
#define MESSAGE_OUTCOME(name, word) MESSAGE_##name,
#include "tbl/message_outcomes.h"
	MESSAGE_COUNT_,
};

#define SOURCE_METER_NO_LAG UINT64_MAX

struct source_meter {
	struct source_meter *_Atomic next;
	char *name;
	char *broker;
	struct counter outcomes[MESSAGE_COUNT_];
	struct counter dead_letters[MESSAGE_COUNT_];
	struct counter results;
	struct counter lost[BROKER_LOSS_COUNT_];
	struct counter rebalances;
	struct counter transactions[BROKER_TRANSACTION_COUNT_];
	struct histogram seconds; /* from taken to acknowledged */
	/* Of messages, when they were taken: it counts ms, not µs. */
	struct histogram age;
	/* Gauges: */
	struct counter in_flight;
	struct counter held;
	struct counter retrying;
	struct counter parked;
	struct counter lag;      /* SOURCE_METER_NO_LAG: it is not known */
	struct counter gap;      /* finished behind one that is not */
	struct counter standing; /* bits of enum standing */
	struct counter parts_standing; /* while it goes on, perhaps */
	struct counter up;       /* the broker can be reached */
	struct counter present;  /* it is configured now */
	struct counter transacts; /* its broker has transactions of ours */
	/*
	 * Its worker's alone: positions of what was given back and may have
	 * been executed (delivery.c).  With another token or key after a reload
	 * no record would say so.
	 */
	struct key_set sent;
};

/* The contract's words. */
extern const char *const source_meter_outcomes[MESSAGE_COUNT_];
extern const char *const
    source_meter_transactions[BROKER_TRANSACTION_COUNT_];
