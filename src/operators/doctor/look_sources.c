/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "operators/doctor/look_private.h"

enum { WAIT_MS = 60000 };

/* --- what the kinds of brokers have in common --- */

void
look_broker_add(const struct look_broker *at, enum finding_name name,
    char *detail, char *remedy)
{
	findings_add(at->doctor, name, at->where, detail, remedy);
}

void
look_broker_add_once(
    const struct look_broker *at, enum finding_name name, char *detail)
{
	const struct doctor *doctor = at->doctor;
	char *where = findings_pointer("brokers", at->broker->name);
	bool said = false;
	for (size_t i = 0; i < doctor->count && !said; i++)
		said = doctor->list[i].name == name &&
		       doctor->list[i].where != NULL &&
		       !strcmp(doctor->list[i].where, where);
	if (said)
		free(detail);
	else
		findings_add(at->doctor, name, where, detail, NULL);
	free(where);
}

void
look_broker_unseen(
    const struct look_broker *at, bool refused, const char *message)
{
	static const char why[] = "the broker could not be examined";
	if (at->source == NULL) {
		look_broker_add(at, at->unseen, mem_text(message), NULL);
	} else {
		look_broker_add_once(at,
		    refused ? FINDING_broker_login : at->unseen,
		    mem_text(message));
		if (!refused)
			findings_skip(at->doctor, FINDING_broker_login, why);
	}
	findings_skip_all(at->doctor, at->needs, why);
}

void
look_broker_waits(const struct look_broker *at, int64_t lag, int64_t waits_ms)
{
	if (waits_ms >= WAIT_MS) {
		char *count =
		    lag >= 0 ? mem_printf("%" PRId64 ", ", lag) : mem_text("");
		look_broker_add(at, FINDING_source_waits,
		    mem_printf("%sthe oldest for %" PRId64 " s", count,
			waits_ms / 1000),
		    NULL);
		free(count);
	} else if (lag >= 0) {
		findings_well(at->doctor, FINDING_source_waits,
		    mem_printf("%s: %" PRId64 " messages are unread",
			at->source->name, lag));
	}
}

/* --- all of them --- */

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
		look_at(at, mem_printf("/routes/%zu/idempotency/on_unknown", i));
	}
}
