/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "base/span.h"
#include "relay/relay_meter.h"

struct relay_meter *
relay_meter_of(struct relay_meters *meters, const char *name)
{
	struct relay_meter *_Atomic *at = &meters->first;
	for (; *at != NULL; at = &(*at)->next)
		if (!strcmp((*at)->name, name))
			return *at;
	struct relay_meter *m = mem_zero(sizeof *m);
	m->name = mem_str(span_str(name));
	*at = m;
	return m;
}

void
relay_meter_clear(struct relay_meters *meters)
{
	struct relay_meter *m = meters->first;
	meters->first = NULL;
	while (m != NULL) {
		struct relay_meter *next = m->next;
		free(m->name);
		free(m);
		m = next;
	}
}
