/* SPDX-License-Identifier: BSD-2-Clause */
#include "operators/doctor/look_broker_private.h"

void
look_sources(struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->conf->n_sources; i++) {
		const struct conf_source *source = &doctor->conf->sources[i];
#ifdef HAVE_POSTGRES
		if (source->broker->kind == BROKER_POSTGRES)
			look_postgres(doctor, source);
#endif
#ifdef HAVE_KAFKA
		if (source->broker->kind == BROKER_KAFKA)
			look_kafka(doctor, source);
#endif
		if (source->broker->kind == BROKER_STREAMS)
			look_streams(doctor, source);
	}
}

void
look_sources_relays(struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->conf->n_relays; i++) {
		const struct conf_relay *relay = &doctor->conf->relays[i];
#ifdef HAVE_POSTGRES
		if (relay->kind == RELAY_POSTGRES)
			look_postgres_relay(doctor, relay);
#endif
#ifdef HAVE_KAFKA
		if (relay->kind == RELAY_KAFKA)
			look_kafka_relay(doctor, relay);
#endif
		(void)relay;
	}
}
