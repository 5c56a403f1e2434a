/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/counter.h"
#include "base/loop/reserve.h"
#include "base/mem.h"
#include "http/upstream/target.h"

enum { DOWN_FIRST_MS = 1000, DOWN_MAX_MS = 10000 };

void
target_list_init(struct target_list *targets, struct connector *connector,
    struct loop *loop, const struct conf_upstream *upstream)
{
	must(upstream->n_targets > 0);
	targets->count = upstream->n_targets;
	targets->list = mem_zero(targets->count * sizeof *targets->list);
	targets->turn = 0;
	for (size_t i = 0; i < targets->count; i++) {
		struct target *target = &targets->list[i];
		target->conf = &upstream->targets[i];
		dialler_init(
		    &target->dialler, connector, upstream, target->conf);
		pool_init(&target->pool, loop,
		    reserve_idle((size_t)upstream->keepalive));
	}
}

void
target_list_end(struct target_list *targets)
{
	for (size_t i = 0; i < targets->count; i++) {
		pool_end(&targets->list[i].pool);
		dialler_end(&targets->list[i].dialler);
	}
	free(targets->list);
	targets->list = NULL;
	targets->count = 0;
}

/* --- what became of them --- */

static void
show_up(const struct target *target)
{
	if (target->up != NULL)
		counter_set(
		    target->up, !target->out && target->down_ms == 0);
}

void
target_show(struct target *target, struct counter *up)
{
	target->up = up;
	show_up(target);
}

void
target_judge(struct target *target, bool out)
{
	target->out = out;
	show_up(target);
}

void
target_reached(struct target *target)
{
	target->down_until_ms = 0;
	if (target->down_ms == 0)
		return;
	target->down_ms = 0;
	show_up(target);
}

void
target_failed(struct target *target, int64_t now_ms)
{
	/* Many requests that fail together are one failure. */
	if (now_ms < target->down_until_ms)
		return;
	target->down_ms = target->down_ms ? 2 * target->down_ms : DOWN_FIRST_MS;
	if (target->down_ms > DOWN_MAX_MS)
		target->down_ms = DOWN_MAX_MS;
	target->down_until_ms = now_ms + target->down_ms;
	show_up(target);
}
