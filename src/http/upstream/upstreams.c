/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/loop/fd_reserve.h"
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
	for (size_t i = 0; i < count; i++) {
		struct target_list *targets = &u->targets[i];
		must(list[i].n_targets > 0);
		targets->count = list[i].n_targets;
		targets->list =
		    mem_zero(targets->count * sizeof *targets->list);
		for (size_t k = 0; k < targets->count; k++) {
			struct target *target = &targets->list[k];
			size_t wanted = (size_t)list[i].keepalive;
			target->conf = &list[i].targets[k];
			connection_dialler_init(&target->dialler,
			    u->connector, &list[i], target->conf);
			list_init(&target->idle);
			target->max_idle = wanted < fd_reserve.idle_most
			    ? wanted
			    : fd_reserve.idle_most;
		}
	}
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
	for (size_t i = 0; i < u->count; i++) {
		struct target_list *targets = &u->targets[i];
		for (size_t k = 0; k < targets->count; k++) {
			while (target_drop(&targets->list[k]))
				continue;
			connection_dialler_end(&targets->list[k].dialler);
		}
		free(targets->list);
	}
	free(u->targets);
	connector_free(&u->connector);
	forward_free_spare(u);
	conf_unref(&u->conf);
	free(u);
}
