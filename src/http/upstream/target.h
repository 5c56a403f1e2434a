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
	bool out; /* it says that it is not well (target_health.h) */
	struct counter *up;    /* a gauge, 1 or 0; NULL: nobody asks */
};

/* Those of one upstream. */
struct target_list {
	struct target *list;
	size_t count;
	size_t next; /* where the next round begins */
};

void target_list_init(struct target_list *targets,
    struct connector *connector, const struct conf_upstream *upstream);
/* Closes what is idle; no connection is in use. */
void target_list_end(struct target_list *targets);

/*
 * Keeps a connection that nothing more is expected from, for idle_ms at most (1
 * or more); nulls the caller's pointer.  Beyond max_idle the one that has been
 * idle longest is closed.
 */
void target_keep(
    struct target *target, struct connection **connection, int64_t idle_ms);
/* Closes the one that has been idle longest; false: there is none. */
bool target_drop(struct target *target);
/*
 * The one that was used last and that is silent and open at this moment, or
 * NULL; those that are not are closed.
 */
MUST_USE struct connection *target_take(struct target *target);

/* From now on that gauge says whether it is up; it outlives the target. */
void target_show(struct target *target, struct counter *up);
/* It has said of itself whether it is well; out: it is not. */
void target_judge(struct target *target, bool out);
/* A connection to it was made. */
void target_reached(struct target *target);
/* None could be made: it is down for a while. */
void target_failed(struct target *target, int64_t now_ms);

/*
 * The way of one request through an upstream's targets, each once, in turns: a
 * round begins where the last one went on to.  Zeroed memory at first; it can
 * be begun again and again, and target_round_free frees what it keeps.
 */
struct target_round {
	/* The round's own: */
	struct target_list *targets;
	size_t first;
	bool *tried;
	size_t size; /* of tried; kept from round to round */
};

void target_round_begin(
    struct target_round *round, struct target_list *targets);
/*
 * The next target that this round has not tried, those that are down last of
 * all (somebody must find out that they are back); NULL: no more.
 */
struct target *target_round_next(struct target_round *round, int64_t now_ms);
void target_round_free(struct target_round *round);
