/* SPDX-License-Identifier: BSD-2-Clause */
#include "messages/source/source_floor.h"

static void
on_known(void *arg, const char *part, struct span floor, bool lowered)
{
	struct source *s = arg;
	if (s->reader != NULL)
		broker_reader_floor(s->reader, part, floor, lowered);
}

void
source_floor_start(struct source *s)
{
	if (s->source->broker->kind == BROKER_KAFKA)
		floors_start(&s->floors, s->worker->store, s->worker->loop,
		    "source", s->source->name, on_known, s);
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
    void *arg, const char *part, struct span floor, bool lower)
{
	struct source *s = arg;
	floors_keep(&s->floors, part, floor, lower);
}

void
source_floor_rewound(void *arg, uint64_t count)
{
	struct source *s = arg;
	counter_add(&s->meter->outcomes[MESSAGE_REWOUND], count);
}
