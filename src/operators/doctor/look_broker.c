/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "operators/doctor/look_private.h"

enum { WAIT_MS = 60000 };

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
