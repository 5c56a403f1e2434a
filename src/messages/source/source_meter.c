/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "messages/source/source_meter.h"

const char *const source_meter_outcomes[MESSAGE_COUNT_] = {
#define MESSAGE_OUTCOME(name, word) [MESSAGE_##name] = word,
#include "tbl/message_outcomes.h"
};

const char *const source_meter_transactions[BROKER_TRANSACTION_COUNT_] = {
    [BROKER_COMMITTED] = "committed",
    [BROKER_ABORTED] = "aborted",
    [BROKER_FENCED] = "fenced",
    [BROKER_UNCLEAR] = "unclear",
};

struct source_meter *
source_meter_of(struct source_meter *_Atomic *meters, const char *name,
    const char *broker)
{
	struct source_meter *_Atomic *at = meters;
	for (; *at != NULL; at = &(*at)->next)
		if (!strcmp((*at)->name, name) &&
		    !strcmp((*at)->broker, broker))
			return *at;
	struct source_meter *m = mem_zero(sizeof *m);
	m->name = mem_str(span_str(name));
	m->broker = mem_str(span_str(broker));
	counter_set(&m->lag, SOURCE_METER_NO_LAG);
	*at = m;
	return m;
}

void
source_meter_clear(struct source_meter *_Atomic *meters)
{
	struct source_meter *m = *meters;
	*meters = NULL;
	while (m != NULL) {
		struct source_meter *next = m->next;
		free(m->name);
		free(m->broker);
		key_set_clear(&m->sent);
		free(m);
		m = next;
	}
}
