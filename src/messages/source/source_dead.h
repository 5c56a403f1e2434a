/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/timer.h"
#include "messages/broker/broker.h"

/*
 * How many dead letters a source has, without those that are parked behind
 * another: they are counted when somebody asks, up to a thousand, and that
 * count is told for a few seconds more, unless one of them came or went here.
 * A member of its source; the worker's thread only.
 */
struct source;
struct inquiry;
struct source_view;

struct source_dead {
	int64_t count; /* -1: nobody knows */
	bool more;     /* there are than that */
	bool known;    /* count is of known_ms */
	int64_t known_ms;

	/* While it counts. */
	bool counts;
	struct broker_letters page;
	int64_t found;
	unsigned rounds;
	struct timer patience;
	struct source_dead_wait *waits;
};

/* Told in the view; where that is later, inquiry->awaited is one more. */
void source_dead_tell(struct source *source, struct inquiry *inquiry,
    struct source_view *view);
/* One was put, or finished. */
void source_dead_changed(struct source *source);
/* Gives up: its reader is about to be closed. */
void source_dead_stop(struct source *source);
