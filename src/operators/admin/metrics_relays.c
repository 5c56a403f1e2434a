/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>

#include "messages/relay/relays.h"
#include "operators/admin/metrics_relays.h"

/* A counter of each relay; running: only of those that run here now. */
static void
put_relays(const struct metrics_relays *all, size_t offset, bool running)
{
	for (int64_t i = 0; i < all->n_workers; i++) {
		const struct relays *relays = relays_of(all->workers[i]);
		const struct relay_meter *m =
		    relays != NULL ? relays->meters.first : NULL;
		for (; m != NULL; m = m->next) {
			const struct counter *counter =
			    (const void *)((const char *)m + offset);
			if (!running || counter_read(&m->runs) > 0)
				metrics_text_of(all->text, "relay", m->name,
				    counter_read(counter));
		}
	}
}

METRICS_RELAYS(RELAY_EVENTS)
{
	put_relays(all, offsetof(struct relay_meter, events), false);
}

METRICS_RELAYS(RELAY_LAG)
{
	put_relays(all, offsetof(struct relay_meter, lag), true);
}

METRICS_RELAYS(RELAY_LOST)
{
	put_relays(all, offsetof(struct relay_meter, lost), false);
}

METRICS_RELAYS(RELAY_UP)
{
	put_relays(all, offsetof(struct relay_meter, up), true);
}
