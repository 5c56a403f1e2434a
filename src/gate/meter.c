/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "gate/meter.h"

/* A new one joins the list's end when it is whole: others may be reading. */
struct series *
meter_series(struct series *_Atomic *list, const char *name)
{
	struct series *series;
	while ((series = atomic_load(list)) != NULL) {
		if (!strcmp(series->name, name))
			return series;
		list = &series->next;
	}
	series = mem_zero(sizeof *series);
	series->name = mem_str(span_str(name));
	atomic_store(list, series);
	return series;
}

void
meter_init(struct meter *meter)
{
	memset(meter, 0, sizeof *meter);
	meter->no_route = meter_series(&meter->routes, "-");
}

void
meter_clear(struct meter *meter)
{
	struct series *lists[] = {
	    meter->routes, meter->upstreams, meter->targets};
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		while (lists[i] != NULL) {
			struct series *series = lists[i];
			lists[i] = series->next;
			free(series->name);
			free(series);
		}
	memset(meter, 0, sizeof *meter);
}
