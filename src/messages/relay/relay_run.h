/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/list.h"
#include "messages/relay/relay.h"
#include "messages/relay/relay_meter.h"
#include "messages/shared/pause.h"

/*
 * A relay as it runs: while this gateway leads it, and nobody has paused it, it
 * reads events and puts them, in batches, to its target, and remembers where it
 * stands.  It knows nothing of what the target is.  One worker has it; that
 * worker's thread only.
 */
struct relay_run {
	struct list item; /* of its worker's */
	struct worker *worker;
	const struct conf *conf; /* a reference: relay is of it */
	const struct conf_relay *relay;
	const struct relay_target_kind *kind;
	struct relay_meter *meter;
	struct leadership leadership;
	struct pause pause;
	/* While it leads: */
	struct relay_target *target; /* NULL: it is not open */
	struct relay_stream stream;
	struct relay_batch *forming;
	struct relay_batch *batch; /* on its way; NULL: none */
	int64_t put_ms;            /* when the last one went */

	bool fenced; /* it is to give its leadership back */
	bool draining;
	bool up;       /* as the log has heard */
	char why[200]; /* the last trouble, for operators */
	struct pause_op pausing; /* the target's wish */
	struct timer look;
	struct task settle;
};

struct relay_run *relay_run_new(struct worker *worker,
    const struct conf *conf, const struct conf_relay *relay,
    struct relay_meter *meter);
/* Nothing more is put; what is on its way is waited for. */
void relay_run_drain(struct relay_run *run);
bool relay_run_is_drained(const struct relay_run *run);
/* Ends it, and gives its leadership back. */
void relay_run_free(struct relay_run *run);
