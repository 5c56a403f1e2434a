/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/shared/letter.h"
#include "messages/source/attempt.h"
#include "messages/source/replay.h"
#include "store/records.h"

/*
 * What a replay is: for replay.c, and for who looks at it from outside
 * (tests/replay).  The worker's thread.
 */
enum replay_step {
#define REPLAY_STEP(name, function, operation) REPLAY_##name,
#include "tbl/steps.h"
	REPLAY_STEPS_,
};

struct replay {
	struct machine machine;
	struct source *source;
	enum replay_act act;
	struct letter_name name;
	struct owner owner;
	int64_t until_us; /* it is ours, by clock_us */
	struct timer renew;
	struct arena *renewal_arena;
	struct letter_op renewal;

	struct arena *arena; /* of op, and so of letter */
	struct letter_op op;
	struct letter letter;
	struct broker_message *message; /* NULL: it is not begun */
	struct attempt a;
	bool shut;     /* it does not open */
	bool known;    /* something is known of its key */
	bool executes; /* it did, once at least */
	bool released; /* its record was */
	struct records_op record;
	struct op rest;
	unsigned next; /* the step after that, of enum replay_step */
	unsigned tries;
	int64_t began_us;

	enum message_outcome outcome;
	enum message_outcome reason; /* it stays a letter for */
	const char *why;
	struct arena *put_arena;
	struct broker_put put;
	struct broker_finish finish;
};
