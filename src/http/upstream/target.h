/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "http/upstream/connection.h"

/*
 * A target of an upstream, with its idle connections.  Each of those stays
 * watched, and one that becomes readable is closed, whatever it says: nobody
 * asked, so it is no answer (RFC 9112, section 9.2).  A target that could not
 * be reached is down for a while, 1 s at first and up to 10 s.  It knows
 * nothing of messages.  The worker's thread only.
 */
struct target {
	const struct conf_target *conf;
	struct dialler dialler;
	struct list idle; /* connections, the one that was used last first */
	size_t n_idle;
	size_t max_idle;
	int64_t down_until_ms; /* of the loop's clock */
	int64_t down_ms;       /* how long the last time; 0: it was reached */
	bool out; /* it failed its health check (target_health.h) */
	struct counter *up;    /* a gauge, 1 or 0; NULL: there is none */
};

/* The targets of one upstream; upstreams.c makes them and frees them. */
struct target_list {
	struct target *list;
	size_t count;
	size_t next; /* where the next round begins */
};

/*
 * Keeps a connection on which no answer is awaited, for idle_ms at most (1 or
 * more); nulls the caller's pointer.  Beyond max_idle the one that has been
 * idle longest is closed.
 */
void target_keep(
    struct target *target, struct connection **connection, int64_t idle_ms);
/* Closes the one that has been idle longest; false: there is none. */
bool target_drop(struct target *target);
/*
 * Takes the idle connection that was used last and is open and silent at this
 * moment; closes those that are not.  NULL: there is none.
 */
MUST_USE struct connection *target_take(struct target *target);

/* Notes the result of a health check; out: it is not well. */
void target_judge(struct target *target, bool out);
/* Notes that a connection to it was made. */
void target_reached(struct target *target);
/* Notes that none could be made: it is down for a while. */
void target_failed(struct target *target, int64_t now_ms);

/*
 * In a round one request tries an upstream's targets, each once; it begins
 * behind the target that the last round ended with.  Zeroed memory at first; it
 * can be begun again and again.
 */
struct target_round {
	/* The round's own: */
	struct target_list *targets;
	size_t first;
	bool *tried; /* kept from round to round, until its owner frees it */
	size_t size; /* of tried */
};

void target_round_begin(
    struct target_round *round, struct target_list *targets);
/*
 * Returns the next target that this round has not tried, those that are down
 * last of all, as somebody must find out that they are back; NULL: no more.
 */
struct target *target_round_next(struct target_round *round, int64_t now_ms);
