/* SPDX-License-Identifier: BSD-2-Clause */
#include "messages/source/delivery.h"
#include "messages/source/source_probe.h"
#include "messages/source/source_standing.h"

enum {
	MOST_MS = 60000, /* while nothing can be sent upstream */
	OTHER_MS = 4000, /* for all else: that is cheap to find out */
};

static int64_t
most_probe_ms(const struct source *s)
{
	const unsigned of_api = 1u << STANDING_UPSTREAM | 1u << STANDING_TOKEN |
	    1u << STANDING_REDIRECTED;
	return (s->standing & of_api) != 0 ? MOST_MS : OTHER_MS;
}

/* Nobody is left who could find out: the next one will. */
static void
let_next_find_out(struct source *s, bool claims, bool finishes)
{
	if (claims) {
		source_standing_end(s, STANDING_STORE);
		source_standing_end(s, STANDING_UPSTREAM);
		source_standing_end(s, STANDING_TOKEN);
		source_standing_end(s, STANDING_REDIRECTED);
	}
	if (finishes) {
		/* The next one that is refused is one too many again. */
		if (source_standing_are_refused(s))
			s->refused = SOURCE_REFUSED_MAX - 1;
		/* One acknowledgement may fail while the broker is well. */
		if (s->reader == NULL || broker_reader_health(s->reader).up)
			source_standing_end(s, STANDING_BROKER);
		source_standing_end(s, STANDING_DEAD_LETTERS);
		source_standing_end(s, STANDING_RESULTS);
	}
}

/* Whoever has waited longest: what one cannot find out another one may. */
static void
let_oldest_go(struct source *s, bool tried[2])
{
	struct standing_place *oldest[2] = {NULL, NULL}, *place;
	LIST_EACH(place, &s->waiting, item)
		oldest[place->to_finish] = place;
	for (unsigned i = 0; i < 2; i++) {
		if (oldest[i] == NULL || tried[i])
			continue;
		tried[i] = true;
		source_standing_let_go(s, oldest[i], true);
	}
}

/* One that stands before its claim, and one before its acknowledgement. */
static void
on_probe(void *arg)
{
	struct source *s = arg;
	bool tried[2] = {s->probing > 0 || pause_stands(&s->pause) ||
		source_standing_why_unshared(s) != NULL,
	    false};
	bool retries = false;
	struct machine *m;
	LIST_EACH(m, &s->deliveries.list, item) {
		retries |= delivery_view_state(delivery_of(m)) ==
		    MESSAGE_STATE_RETRYING;
		/* What is on its way will find it out. */
		tried[true] |= delivery_is_finishing(m);
	}
	let_oldest_go(s, tried);
	/* What is about to be tried again will find out, too. */
	let_next_find_out(s, !tried[false] && !retries, !tried[true]);
	if (!source_standing_can_be_tried(s))
		return;
	int64_t most_ms = most_probe_ms(s);
	s->probe_ms = s->probe_ms * 2 < most_ms ? s->probe_ms * 2 : most_ms;
	timer_set(&s->probe, s->probe_ms);
}

void
source_probe_init(struct source *s)
{
	timer_init(&s->probe, s->worker->loop, on_probe, s);
}
