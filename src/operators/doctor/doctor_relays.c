/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/json_pointer.h"
#include "base/mem.h"
#include "base/must.h"
#ifdef HAVE_KAFKA
#include "operators/doctor/doctor_kafka_private.h"
#endif
#include "operators/doctor/doctor_relays_private.h"
#include "operators/probe/ledger_query.h"

/* --- looking --- */

void
doctor_relays_look(struct doctor *doctor)
{
	size_t count = doctor->conf->n_relays;
	doctor->relays = mem_zero(count * sizeof *doctor->relays);
	for (size_t i = 0; i < count; i++) {
		doctor->relays[i] =
		    (struct source_seen){.how = BROKER_SEEN, .lag = -1};
#ifdef HAVE_POSTGRES
		if (doctor->conf->relays[i].kind == RELAY_POSTGRES)
			ledger_query(
			    &doctor->conf->relays[i], &doctor->relays[i]);
#endif
#ifdef HAVE_KAFKA
		if (doctor->conf->relays[i].kind == RELAY_KAFKA)
			doctor_kafka_relay(doctor, &doctor->conf->relays[i],
			    &doctor->relays[i]);
#endif
	}
}

void
doctor_relays_clear(struct doctor *doctor)
{
	for (size_t i = 0; doctor->relays && i < doctor->conf->n_relays; i++)
		source_seen_clear(&doctor->relays[i]);
	free(doctor->relays);
}

/* --- judging --- */

static void
add_of_relay(struct doctor *doctor, enum finding_name name, size_t index,
    const char *detail, const char *remedy)
{
	char *where = NULL;
	size_t len;
	FILE *out = open_memstream(&where, &len);
	must(out != NULL);
	fputs("/relays", out);
	json_pointer_write(out, span_str(doctor->conf->relays[index].name));
	must(fclose(out) == 0);
	findings_add(doctor, name, where, mem_str(span_str(detail)),
	    remedy != NULL ? mem_str(span_str(remedy)) : NULL);
	free(where);
}

void
doctor_relays_unreachable(struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->conf->n_relays; i++)
		if (doctor->relays[i].how != BROKER_SEEN)
			add_of_relay(doctor, FINDING_relay_unreachable, i,
			    doctor->relays[i].message, NULL);
}

/* Whether anything was seen of it; if not, that is said. */
static bool
is_seen(struct doctor *doctor, enum finding_name name, size_t index)
{
	if (doctor->relays[index].how == BROKER_SEEN)
		return true;
	findings_add_skipped(
	    doctor, name, "the relay's broker could not be examined");
	return false;
}

/* What is missing, of the relays of a kind. */
static void
add_missing(
    struct doctor *doctor, enum finding_name name, enum relay_kind kind)
{
	for (size_t i = 0; i < doctor->conf->n_relays; i++)
		if (doctor->conf->relays[i].kind == kind &&
		    is_seen(doctor, name, i) &&
		    doctor->relays[i].missing != NULL)
			add_of_relay(doctor, name, i,
			    doctor->relays[i].missing, NULL);
}

void
doctor_relays_table(struct doctor *doctor)
{
	add_missing(doctor, FINDING_relay_table, RELAY_POSTGRES);
}

void
doctor_relays_topic(struct doctor *doctor)
{
	add_missing(doctor, FINDING_relay_topic, RELAY_KAFKA);
}

void
doctor_relays_rights(struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->conf->n_relays; i++)
		if (is_seen(doctor, FINDING_relay_rights, i) &&
		    doctor->relays[i].rights != NULL)
			add_of_relay(doctor, FINDING_relay_rights, i,
			    doctor->relays[i].rights,
			    doctor->relays[i].grant);
}
