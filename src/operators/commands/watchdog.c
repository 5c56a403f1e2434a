/* SPDX-License-Identifier: BSD-2-Clause */
#include "gate/worker.h"
#include "operators/commands/service_manager.h"
#include "operators/commands/watchdog.h"

enum { SIGNS = 3 }; /* in the time after which we are taken for hung */

/* A worker has come round to its messages. */
static void
on_pong(void *arg)
{
	struct watchdog *w = arg;
	if (--w->silent > 0 || w->pause_ms == 0)
		return;
	service_manager_tell("WATCHDOG=1");
	timer_set(&w->timer, w->pause_ms);
}

static void
ping_workers(void *arg)
{
	struct watchdog *w = arg;
	w->silent = w->n_workers;
	for (unsigned i = 0; i < w->n_workers; i++)
		worker_post_ping(w->workers[i], w->loop, on_pong, w);
}

void
watchdog_start(struct watchdog *w, struct loop *loop,
    struct worker *const *workers, unsigned n_workers)
{
	uint64_t allowed_us = service_manager_watchdog_us();
	*w = (struct watchdog){
	    .workers = workers, .n_workers = n_workers, .loop = loop};
	timer_init(&w->timer, loop, ping_workers, w);
	if (allowed_us == 0)
		return;
	w->pause_ms = (int64_t)(allowed_us / 1000 / SIGNS);
	if (w->pause_ms == 0)
		w->pause_ms = 1;
	timer_set(&w->timer, 0);
}

void
watchdog_stop(struct watchdog *w)
{
	w->pause_ms = 0;
	timer_clear(&w->timer);
}
