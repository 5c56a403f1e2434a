/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/digits.h"
#include "messages/broker/relay_target.h"
#include "store/record/event.h"

void
relay_target_write_place(
    const struct relay_place *place, char ret_text[RELAY_PLACE_BYTES])
{
	snprintf(ret_text, RELAY_PLACE_BYTES,
	    "%" PRIu64 "-%" PRIu64 " %" PRId64, place->ms, place->seq,
	    place->known ? place->count : -1);
}

struct relay_place
relay_target_read_place(struct span text)
{
	struct relay_place place = {.count = -1};
	struct event_id id;
	struct span entry;
	if (!span_next(&text, ' ', &entry) || !event_read_entry(entry, &id))
		return place;
	place.known = true;
	place.ms = id.ms;
	place.seq = id.number;
	if (!digits_read(text, INT64_MAX, &place.count))
		place.count = -1;
	return place;
}

void
relay_target_say(struct relay_target *target, bool up, const char *message)
{
	if (target->up == up && !strcmp(target->message, message))
		return;
	target->up = up;
	snprintf(target->message, sizeof target->message, "%s", message);
	target->events->changed(target->arg);
}
