/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/relay/relay.h"
#include "messages/relay/relay_meter.h"
#include "messages/relay/relay_parcel.h"
#include "messages/relay/relay_place.h"
#include "messages/relay/relay_stream.h"
#include "messages/shared/pause.h"

/*
 * A relay as it runs: while this gateway has its turn, and nobody has paused
 * it, it reads events and puts them, in parcels, to its target, and remembers
 * where it stands.  It knows nothing of what the target is.  One worker has it;
 * that worker's thread only.
 *
 * Circle: relay_compare, relay_health, relay_run.  What is told of a relay is
 * read from it.
 */
struct relay_run {
	struct relay_run *next; /* of its worker */
	struct worker *worker;
	const struct conf *conf; /* a reference: relay is of it */
	const struct conf_relay *relay;
	struct relay_meter *meter;
	struct turn turn;
	struct pause pause;
	/* While it has the turn: */
	struct relay_target *target; /* NULL: it is not open */
	struct relay_place place;
	struct relay_stream stream;
	bool reads; /* it knows where it stands */
	/*
	 * The target, which knows it, has not said so yet: until then the
	 * stream is compared with what Redis has of that.
	 */
	bool compares;
	struct relay_parcel *forming;
	struct relay_parcel *first; /* on their way, in order */
	size_t on_their_way;
	int64_t put_ms; /* when the last one went */

	bool fenced; /* it is to give its turn back */
	bool draining;
	bool up; /* as the log has heard */
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
/* Ends it, and gives its turn back; nulls the pointer, accepts NULL. */
void relay_run_free(struct relay_run **run);
