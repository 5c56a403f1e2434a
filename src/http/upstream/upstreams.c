/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "http/upstream/forward_private.h"
#include "http/upstream/upstreams.h"

struct upstreams *
upstreams_new(struct loop *loop, const struct conf *conf,
    struct budget *budget, const struct conf_upstream *list, size_t count)
{
	struct upstreams *u = mem_zero(sizeof *u);
	u->loop = loop;
	u->conf = conf_ref(conf);
	u->budget = budget;
	u->connector = connector_new(loop);
	u->list = list;
	u->count = count;
	u->targets = mem_zero(count * sizeof *u->targets);
	for (size_t i = 0; i < count; i++)
		target_list_init(&u->targets[i], u->connector, &list[i]);
	return u;
}

void
upstreams_measure(struct upstreams *u, struct histogram *const *took,
    struct counter *connections)
{
	u->took = took;
	u->connector->connections = connections;
}

void
upstreams_show(struct upstreams *u, size_t upstream, size_t target,
    struct counter *up)
{
	struct target *shown = &u->targets[upstream].list[target];
	shown->up = up;
	target_judge(shown, shown->out);
}

void
upstreams_free(struct upstreams **upstreams)
{
	struct upstreams *u = *upstreams;
	*upstreams = NULL;
	if (u == NULL)
		return;
	must(u->pending == 0);
	for (size_t i = 0; i < u->count; i++)
		target_list_end(&u->targets[i]);
	free(u->targets);
	connector_free(&u->connector);
	forward_free_spare(u);
	conf_unref(&u->conf);
	free(u);
}
