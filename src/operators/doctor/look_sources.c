/* SPDX-License-Identifier: BSD-2-Clause */
#include "operators/doctor/look_broker_private.h"

#ifdef HAVE_POSTGRES
/* The table of a route's witness; NULL: it has none. */
static const char *
witness_of(const struct conf_route *route)
{
	return route->idempotency != NULL ? route->idempotency->witness.table
					  : NULL;
}

#endif

void
look_sources(struct doctor *doctor)
{
	const struct conf *conf = doctor->conf;
	for (size_t i = 0; i < conf->n_sources; i++) {
		const struct conf_source *source = &conf->sources[i];
		const struct look_broker at = {.doctor = doctor,
		    .source = source,
		    .broker = source->broker};
#ifdef HAVE_POSTGRES
		if (source->broker->kind == BROKER_POSTGRES)
			look_postgres(&at);
#endif
#ifdef HAVE_KAFKA
		if (source->broker->kind == BROKER_KAFKA)
			look_kafka(&at);
#endif
		if (source->broker->kind == BROKER_STREAMS)
			look_streams(&at);
	}
	for (size_t i = 0; i < conf->n_relays; i++) {
		const struct conf_relay *relay = &conf->relays[i];
		const struct look_broker at = {
		    .doctor = doctor, .relay = relay, .broker = relay->broker};
#ifdef HAVE_POSTGRES
		if (relay->kind == RELAY_POSTGRES)
			look_postgres_relay(&at);
#endif
#ifdef HAVE_KAFKA
		if (relay->kind == RELAY_KAFKA)
			look_kafka_relay(&at);
#endif
		(void)at;
	}
#ifdef HAVE_POSTGRES
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_route *route = &conf->routes[i];
		const char *table = witness_of(route);
		bool first = table != NULL;
		/* Many have that of `defaults`, which is looked at once. */
		for (size_t k = 0; k < i; k++)
			first &= witness_of(&conf->routes[k]) != table;
		if (first)
			look_postgres_witness(&(struct look_broker){
			    .doctor = doctor,
			    .route = route,
			    .broker = route->idempotency->witness.broker});
	}
#endif
}
