/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "operators/doctor/look_private.h"

/* Takes where. */
static void
look_at(struct look_broker at, char *where)
{
	at.where = where;
	if (at.broker->kind == BROKER_STREAMS)
		look_streams(&at);
#ifdef HAVE_KAFKA
	if (at.broker->kind == BROKER_KAFKA)
		look_kafka(&at);
#endif
#ifdef HAVE_POSTGRES
	if (at.broker->kind == BROKER_POSTGRES)
		look_postgres(&at);
#endif
	free(where);
}

/* The table of a route's witness; NULL: it has none. */
static const char *
witness_of(const struct conf_route *route)
{
	return route->idempotency != NULL ? route->idempotency->witness.table
					  : NULL;
}

void
look_sources(struct doctor *doctor)
{
	const struct conf *conf = doctor->conf;
	struct look_broker at = {.doctor = doctor,
	    .unseen = FINDING_broker_unreachable,
	    .needs = NEEDS_BROKER};
	for (size_t i = 0; i < conf->n_sources; i++) {
		at.source = &conf->sources[i];
		at.broker = at.source->broker;
		look_at(at, findings_pointer("sources", at.source->name));
	}
	at = (struct look_broker){.doctor = doctor,
	    .unseen = FINDING_relay_unreachable,
	    .needs = NEEDS_RELAY};
	for (size_t i = 0; i < conf->n_relays; i++) {
		at.relay = &conf->relays[i];
		at.broker = at.relay->broker;
		if (at.relay->kind != RELAY_WEBHOOK)
			look_at(at, findings_pointer("relays", at.relay->name));
	}
	at = (struct look_broker){.doctor = doctor,
	    .unseen = FINDING_witness_unreachable,
	    .needs = NEEDS_WITNESS};
	for (size_t i = 0; i < conf->n_routes; i++) {
		at.route = &conf->routes[i];
		const char *table = witness_of(at.route);
		bool first = table != NULL;
		/* Many have that of `defaults`, which is looked at once. */
		for (size_t k = 0; k < i; k++)
			first &= witness_of(&conf->routes[k]) != table;
		if (!first)
			continue;
		at.broker = at.route->idempotency->witness.broker;
		look_at(
		    at, mem_printf("/routes/%zu/idempotency/on_unknown", i));
	}
}
