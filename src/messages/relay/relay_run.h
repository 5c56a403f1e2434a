/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <pthread.h>

#include "base/counter.h"
#include "base/list.h"
#include "gate/worker.h"
#include "messages/relay/relay_batch.h"
#include "messages/shared/leadership.h"
#include "messages/shared/pause.h"

/*
 * What is counted and said of a relay, for GET /metrics and /relays.  Its
 * worker's thread writes it; the admin interface reads at any time.  A series
 * goes by the relay's name, so that it goes on over a reload; series are only
 * ever added.
 */
struct relay_meter {
	struct relay_meter *_Atomic next;
	char *name;
	struct counter events; /* that were brought */
	struct counter lost;
	/* Gauges: */
	struct counter lag; /* events that are still to be brought */
	struct counter up;
	struct counter runs; /* here, now; else those two mean nothing */
	pthread_mutex_t lock; /* of the rest */
	struct relay_said {
		char why[200];     /* the last trouble; "": none */
		int64_t paused_ms; /* since then, since 1970; 0: it is not */
		char who[256], note[1024];
	} said;
};

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
	size_t most; /* events in a batch, about */
	struct relay_meter *meter;
	struct relay_said said; /* as the meter has it */
	struct leadership leadership;
	struct pause pause;
	/* While it leads: */
	struct relay_target *target; /* NULL: it is not open */
	struct relay_stream stream;
	struct relay_bundle *forming;
	struct relay_bundle *batch; /* on its way; NULL: none */
	bool is_put;                /* the target has it */
	int64_t put_ms;             /* when the last one went */

	bool fenced; /* it is to give its leadership back */
	bool draining;
	int64_t drained_ms; /* no longer than until then */
	bool up; /* as the log has heard */
	struct pause_op pausing; /* the target's wish */
	struct timer look;
	struct task settle;
};

struct relay_run *relay_run_new(struct worker *worker,
    const struct conf *conf, const struct conf_relay *relay,
    struct relay_meter *meter);
/* Nothing more is put; what is on its way is waited for. */
void relay_run_drain(struct relay_run *run);
/* It drains, and nothing is on its way any more. */
bool relay_run_is_drained(const struct relay_run *run);
/* Ends it, and gives its leadership back. */
void relay_run_free(struct relay_run *run);
/* What is said of it.  Any thread. */
struct relay_said relay_run_said(struct relay_meter *meter);
