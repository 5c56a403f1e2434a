/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "gate/generation.h"
#include "http/upstream/target_health.h"

struct generation *
generation_new(struct loop *loop, const struct conf *conf,
    struct budget *budget, struct meter *meter)
{
	struct generation *g = mem_zero(sizeof *g);
	g->refs = 1;
	g->conf = conf_ref(conf);
	g->upstreams = upstreams_new(
	    loop, conf, budget, conf->upstreams, conf->n_upstreams);
	g->metered.routes =
	    mem_zero((conf->n_routes + 1) * sizeof *g->metered.routes);
	for (size_t i = 0; i < conf->n_routes; i++)
		g->metered.routes[i] =
		    meter_series(&meter->routes, conf->routes[i].name);
	g->metered.upstreams =
	    mem_zero((conf->n_upstreams + 1) * sizeof *g->metered.upstreams);
	for (size_t i = 0; i < conf->n_upstreams; i++) {
		const struct conf_upstream *upstream = &conf->upstreams[i];
		g->metered.upstreams[i] = &meter_series(
		    &meter->upstreams, upstream->name)->seconds;
		for (size_t k = 0; k < upstream->n_targets; k++) {
			char *name = mem_printf("%s\n%s", upstream->name,
			    upstream->targets[k].url);
			upstreams_show(g->upstreams, i, k,
			    &meter_series(&meter->targets, name)->up);
			free(name);
		}
	}
	upstreams_measure(
	    g->upstreams, g->metered.upstreams, &meter->connections);
	g->health = target_health_new(loop, conf, budget, g->upstreams);
	return g;
}

struct generation *
generation_ref(struct generation *generation)
{
	must(generation->refs > 0);
	generation->refs++;
	return generation;
}

void
generation_unref(struct generation **generation)
{
	struct generation *g = *generation;
	*generation = NULL;
	if (g == NULL || --g->refs > 0)
		return;
	target_health_free(&g->health);
	upstreams_free(&g->upstreams);
	free(g->metered.routes);
	free(g->metered.upstreams);
	conf_unref(&g->conf);
	free(g);
}
