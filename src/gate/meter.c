/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "gate/meter.h"

/* A new one joins the list's end when it is whole: others may be reading. */
static struct series *
find_series(struct series *_Atomic *list, const char *name)
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
	meter->no_route = find_series(&meter->routes, "-");
}

static void
free_list(struct series *series)
{
	while (series != NULL) {
		struct series *next = series->next;
		free(series->name);
		free(series);
		series = next;
	}
}

void
meter_clear(struct meter *meter)
{
	free_list(meter->routes);
	free_list(meter->upstreams);
	free_list(meter->targets);
	memset(meter, 0, sizeof *meter);
}

void
meter_asked(struct series *route, struct span by, unsigned answer)
{
	unsigned asker = span_eq(by, SPAN("request")) ? 0
	    : span_eq(by, SPAN("sweep")) ? 1 : 2;
	counter_add(&route->asked[asker * METER_ANSWERS + answer], 1);
}

struct counter *
meter_target(struct meter *meter, const char *name)
{
	return &find_series(&meter->targets, name)->up;
}

void
meter_conf(struct meter *meter, const struct conf *conf,
    struct metered *ret_metered)
{
	struct metered metered = {
	    mem_zero((conf->n_routes + 1) * sizeof(struct series *)),
	    mem_zero((conf->n_upstreams + 1) * sizeof(struct histogram *)),
	};
	for (size_t i = 0; i < conf->n_routes; i++)
		metered.routes[i] =
		    find_series(&meter->routes, conf->routes[i].name);
	for (size_t i = 0; i < conf->n_upstreams; i++)
		metered.upstreams[i] = &find_series(
		    &meter->upstreams, conf->upstreams[i].name)->seconds;
	*ret_metered = metered;
}
