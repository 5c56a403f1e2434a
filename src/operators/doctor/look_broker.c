/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "operators/doctor/look_broker_private.h"

enum { WAIT_MS = 60000 };

void
look_broker_add(struct doctor *doctor, const struct conf_source *source,
    enum finding_name name, char *detail, char *remedy)
{
	char *where = findings_pointer("sources", source->name);
	findings_add(doctor, name, where, detail, remedy);
	free(where);
}

void
look_broker_add_relay(struct doctor *doctor, const struct conf_relay *relay,
    enum finding_name name, char *detail, char *remedy)
{
	char *where = findings_pointer("relays", relay->name);
	findings_add(doctor, name, where, detail, remedy);
	free(where);
}

void
look_broker_add_once(struct doctor *doctor, const struct conf_source *source,
    enum finding_name name, char *detail)
{
	char *where = findings_pointer("brokers", source->broker->name);
	bool said = false;
	for (size_t i = 0; i < doctor->count && !said; i++)
		said = doctor->list[i].name == name &&
		       doctor->list[i].where != NULL &&
		       !strcmp(doctor->list[i].where, where);
	if (said)
		free(detail);
	else
		findings_add(doctor, name, where, detail, NULL);
	free(where);
}

void
look_broker_unseen(struct doctor *doctor, const struct conf_source *source,
    bool refused, const char *message)
{
	static const char why[] = "the broker could not be examined";
	look_broker_add_once(doctor, source,
	    refused ? FINDING_broker_login : FINDING_broker_unreachable,
	    mem_text(message));
	if (!refused)
		findings_skip(doctor, FINDING_broker_login, why);
	findings_skip_all(doctor, NEEDS_BROKER, why);
}

void
look_broker_unseen_relay(
    struct doctor *doctor, const struct conf_relay *relay, const char *message)
{
	look_broker_add_relay(
	    doctor, relay, FINDING_relay_unreachable, mem_text(message), NULL);
	findings_skip_all(
	    doctor, NEEDS_RELAY, "the relay's broker could not be examined");
}

void
look_broker_waits(struct doctor *doctor, const struct conf_source *source,
    int64_t lag, int64_t waits_ms)
{
	if (waits_ms >= WAIT_MS) {
		char *count =
		    lag >= 0 ? mem_printf("%" PRId64 ", ", lag) : mem_text("");
		look_broker_add(doctor, source, FINDING_source_waits,
		    mem_printf("%sthe oldest for %" PRId64 " s", count,
			waits_ms / 1000),
		    NULL);
		free(count);
	} else if (lag >= 0) {
		findings_well(doctor, FINDING_source_waits,
		    mem_printf("%s: %" PRId64 " messages are unread",
			source->name, lag));
	}
}

void
look_broker_append(char **list, char *text)
{
	if (*list != NULL) {
		char *both = mem_printf("%s, %s", *list, text);
		free(*list);
		free(text);
		text = both;
	}
	*list = text;
}
