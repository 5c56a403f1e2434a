/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/loop/log.h"
#include "base/loop/timer.h"
#include "store/shared.h"

/*
 * An operator's pause of a source or of a relay: for all gateways, until it is
 * resumed.  Gateways hear of it at once where Redis' channels work, and ask
 * again every PAUSE_ASK_MS.  Where Redis cannot be asked, what was known last
 * holds, and before anything is known it stands still.  It knows nothing of
 * what is paused.  A member of its owner, which stops it before it or the store
 * is gone; the store's thread.
 */
enum { PAUSE_ASK_MS = 4000, PAUSE_RETRY_MS = 500 };

struct pause_events {
	enum event paused, resumed; /* its lines in the log */
	/* It is first known, or has changed, also who and note. */
	void (*changed)(void *arg);
	void *arg;
};

struct pause {
	struct shared_watch watch;
	struct pause_events events;
	bool known;
	bool on;
	int64_t since_ms; /* while it is on: by Redis' clock, … */
	char *who, *note; /* … and what the operator said; else NULL */
};

/* Asks from now on.  events are copied; kind and name as in shared_init. */
void pause_start(struct pause *pause, struct store *store, struct loop *loop,
    const char *kind, const char *name, const struct pause_events *events);
/* Zeroed memory is a pause that is stopped. */
void pause_stop(struct pause *pause);
/* Whether nothing new is to be begun: it is paused, or that is not known. */
bool pause_stands(const struct pause *pause);

/*
 * What an operator says or asks; operations and their errors are as in
 * store/store.h.  Verdicts: DONE; of "resume" GONE, where nothing was paused.
 */
struct pause_op {
	struct store_op op;
	struct arena *arena; /* set by the owner, kept while it is pending */
	bool on;             /* it is paused now, … */
	int64_t since_ms;    /* … since then, and by whom and why */
	struct span who, note;
};
/* act: "pause" (one that is paused already is so anew), "resume" or "look". */
void pause_say(struct pause_op *op, struct store *store, const char *kind,
    const char *name, const char *act, struct span who, struct span note);
