/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/mem.h"
#include "messages/brokers.h"
#include "messages/relay/relays.h"

static struct relays *
relays_part(struct worker_part *part)
{
	return CONTAINER_OF(part, struct relays, part);
}

/* Finds or makes the series of that name. */
static struct relay_meter *
meter_of(struct relays *all, const char *name)
{
	struct relay_meter *_Atomic *at = &all->meters;
	for (; *at != NULL; at = &(*at)->next)
		if (!strcmp((*at)->name, name))
			return *at;
	struct relay_meter *m = mem_zero(sizeof *m);
	m->name = mem_text(name);
	must(pthread_mutex_init(&m->lock, NULL) == 0);
	*at = m;
	return m;
}

static bool
has_run(struct list *runs, const char *name)
{
	struct relay_run *run;
	LIST_EACH(run, runs, item)
		if (!strcmp(run->relay->name, name))
			return true;
	return false;
}

/* Those that are configured and not here begin, where they have drained. */
static void
begin_missing(struct relays *all)
{
	struct worker *w = all->worker;
	const struct conf *conf = w->generation->conf;
	for (size_t i = 0; i < conf->n_relays && !all->draining; i++) {
		const struct conf_relay *relay = &conf->relays[i];
		if (!worker_owns(w, "relay", relay->name) ||
		    has_run(&all->runs, relay->name))
			continue;
		struct relay_run *run = relay_run_new(
		    w, conf, relay, meter_of(all, relay->name));
		list_add_first(&all->runs, &run->item);
	}
}

/*
 * Where claims are refused for the sake of relays, one that is gone must not be
 * waited for: one worker says so.
 */
static void
forget_others(const struct relays *all)
{
	const struct worker *w = all->worker;
	if (w->index == 0 && w->conf->store.events_refuse &&
	    w->conf->store.events_maxlen > 0)
		relay_stream_forget(w->store, w->generation->conf);
}

/* What has drained is gone, and what takes its place begins. */
static bool
on_turn(void *arg)
{
	struct relays *all = arg;
	struct relay_run *run;
	bool gone = false;
	LIST_EACH(run, &all->runs, item)
		if (relay_run_is_drained(run)) {
			relay_run_free(run);
			gone = true;
		}
	if (gone)
		begin_missing(all);
	return gone;
}

/* --- what the worker says --- */

static struct worker_part *
relays_begin(struct worker *worker)
{
	struct relays *all = mem_zero(sizeof *all);
	all->part.kind = &relays_kind;
	all->worker = worker;
	list_init(&all->runs);
	loop_hook(worker->loop, HOOK_FLUSH, &all->hook, on_turn, all);
	forget_others(all);
	begin_missing(all);
	return &all->part;
}

static bool
is_unchanged(const struct conf *conf, const struct conf_relay *relay)
{
	for (size_t i = 0; i < conf->n_relays; i++)
		if (!strcmp(conf->relays[i].name, relay->name))
			return !memcmp(conf->relays[i].digest, relay->digest,
			    sizeof relay->digest);
	return false;
}

static void
relays_reload(struct worker_part *part, struct generation *generation)
{
	struct relays *all = relays_part(part);
	struct relay_run *run;
	if (all->draining)
		return;
	LIST_EACH(run, &all->runs, item)
		if (!is_unchanged(generation->conf, run->relay))
			relay_run_drain(run);
	forget_others(all);
	begin_missing(all);
}

static void
relays_drain(struct worker_part *part)
{
	struct relays *all = relays_part(part);
	struct relay_run *run;
	all->draining = true;
	LIST_EACH(run, &all->runs, item)
		relay_run_drain(run);
}

/* What is still on its way is put again, by whoever leads the relay next. */
static void
relays_over(struct worker_part *part)
{
	struct relays *all = relays_part(part);
	struct relay_run *run;
	LIST_EACH(run, &all->runs, item)
		relay_run_free(run);
}

static bool
relays_are_idle(const struct worker_part *part)
{
	const struct relays *all = (const void *)part;
	return list_empty(&all->runs) &&
	    brokers_leaving(all->worker->loop) == 0;
}

static void
relays_end(struct worker_part *part)
{
	struct relays *all = relays_part(part);
	all->draining = true;
	relays_over(part);
	loop_unhook(&all->hook);
	brokers_abandon(all->worker->loop);
}

static void
relays_free(struct worker_part *part)
{
	struct relays *all = relays_part(part);
	for (struct relay_meter *m = all->meters, *next; m != NULL; m = next) {
		next = m->next;
		must(pthread_mutex_destroy(&m->lock) == 0);
		free(m->name);
		free(m);
	}
	free(all);
}

const struct worker_part_kind relays_kind = {
    .name = "relays",
    .begin = relays_begin,
    .reload = relays_reload,
    .drain = relays_drain,
    .over = relays_over,
    .is_idle = relays_are_idle,
    .end = relays_end,
    .free = relays_free,
};

struct relays *
relays_of(const struct worker *worker)
{
	struct worker_part *part = worker->parts;
	for (; part != NULL; part = part->next)
		if (part->kind == &relays_kind)
			return relays_part(part);
	return NULL;
}
