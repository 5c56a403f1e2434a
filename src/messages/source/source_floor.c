/* SPDX-License-Identifier: BSD-2-Clause */
#include "messages/source/source_floor.h"
#include "messages/source/source_proof.h"

static void
on_known(
    void *arg, const char *part, struct span floor, struct span decided)
{
	struct source *s = arg;
	if (strcmp(part, "store") == 0) {
		source_proof_accepted(s, floor);
		return;
	}
	enum broker_decision decision =
	    span_eq(decided, SPAN("resume"))   ? BROKER_RESUME
	    : span_eq(decided, SPAN("rewind")) ? BROKER_REWIND
					       : BROKER_UNDECIDED;
	if (s->reader != NULL)
		broker_reader_floor(s->reader, part, floor, decision);
}

void
source_floor_start(struct source *s)
{
	floors_start(&s->floors, s->worker->store, s->worker->loop, "source",
	    s->source->name, on_known, s);
}

void
source_floor_stop(struct source *s)
{
	floors_stop(&s->floors);
}

void
source_floor_wanted(void *arg, const char *part)
{
	struct source *s = arg;
	floors_want(&s->floors, part);
}

void
source_floor_reached(
    void *arg, const char *part, struct span floor, bool anew)
{
	struct source *s = arg;
	floors_keep(&s->floors, part, floor, anew);
}

void
source_floor_unproven(void *arg, const char *part)
{
	struct source *s = arg;
	floors_stand(&s->floors, part);
}
