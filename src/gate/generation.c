/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "gate/generation.h"

struct generation *
generation_new(struct loop *loop, const struct conf *conf,
    struct budget *budget, struct meter *meter)
{
	struct generation *g = mem_zero(sizeof *g);
	g->refs = 1;
	g->conf = conf_ref(conf);
	g->upstreams = upstreams_new(loop, conf, budget);
	meter_conf(meter, conf, &g->metered);
	upstreams_measure(
	    g->upstreams, g->metered.upstreams, &meter->connections);
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
	upstreams_free(&g->upstreams);
	meter_conf_clear(&g->metered);
	conf_unref(&g->conf);
	free(g);
}
