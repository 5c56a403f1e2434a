/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <pthread.h>

#include "base/counter.h"
#include "messages/broker/relay_target.h"
#include "messages/members.h"

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
		char why[RELAY_WHY_BYTES]; /* the last trouble; "": none */
		int64_t paused_ms; /* since then, since 1970; 0: it is not */
		char who[256], note[1024];
	} said;
};

/*
 * The relays of one worker, as its part (members_of), and what they count.
 */
struct relays {
	struct members members; /* first; struct relay_run, by member */
	struct relay_meter *_Atomic meters; /* any thread reads them */
};

extern const struct worker_part_kind relays_kind;

/* What is said of a relay.  Any thread. */
struct relay_said relays_said(struct relay_meter *meter);
