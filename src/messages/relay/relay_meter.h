/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <pthread.h>

#include "base/arena.h"
#include "base/counter.h"

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
	char *why;         /* the last trouble; "": none */
	int64_t paused_ms; /* since then, since 1970; 0: it is not paused */
	char *who, *note;
};

/* What is said of it; texts in the reader's arena. */
struct relay_said {
	const char *why;
	int64_t paused_ms;
	const char *who, *note;
};

struct relay_meters {
	struct relay_meter *_Atomic first;
};

/* Finds or makes the series of that name; its worker's thread, or before it. */
struct relay_meter *relay_meter_of(
    struct relay_meters *meters, const char *name);
/* Any thread. */
void relay_meter_read(struct relay_meter *meter, struct arena *arena,
    struct relay_said *ret_said);
/* Its worker's thread; texts are copied. */
void relay_meter_say(struct relay_meter *meter, const char *why);
void relay_meter_pause(struct relay_meter *meter, int64_t since_ms,
    const char *who, const char *note);
/* Nobody may read any more. */
void relay_meter_clear(struct relay_meters *meters);
