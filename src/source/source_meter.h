/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/histogram.h"
#include "broker/broker.h"

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

struct source_meter {
	struct source_meter *_Atomic next;
	char *name;
	char *broker;
	struct counter outcomes[MESSAGE_COUNT_];
	struct counter dead_letters[MESSAGE_COUNT_];
	struct counter results;
	struct counter lost[BROKER_LOSS_COUNT_];
	struct counter rebalances;
	struct histogram seconds; /* from taken to acknowledged */
	struct histogram age;     /* of a message, when it was taken */
	/* Gauges: */
	struct counter in_flight;
	struct counter held;
	struct counter retrying;
	struct counter parked;
	struct counter lag;      /* LAG_UNKNOWN: it is not known */
	struct counter standing; /* bits of enum standing */
	struct counter up;       /* the broker can be reached */
	struct counter present;  /* it is configured now */
};

struct source_meters {
	struct source_meter *_Atomic first;
};

/* Finds or makes the series of that name; main thread, before its worker. */
struct source_meter *source_meter_of(
    struct source_meters *meters, const char *name, const char *broker);
/* Nobody may read any more. */
void source_meter_clear(struct source_meters *meters);

const char *source_meter_outcome(enum message_outcome outcome);
