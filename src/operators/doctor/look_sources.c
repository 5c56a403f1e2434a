/* SPDX-License-Identifier: BSD-2-Clause */
#include "operators/doctor/look_broker_private.h"

void
look_sources(struct doctor *doctor)
{
	const struct conf *conf = doctor->conf;
	for (size_t i = 0; i < conf->n_sources; i++) {
		const struct conf_source *source = &conf->sources[i];
		const struct look_broker at = {
		    doctor, source, NULL, source->broker};
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
		    doctor, NULL, relay, relay->broker};
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
}
