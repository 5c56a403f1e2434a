/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/mem.h"
#include "messages/brokers.h"
#include "messages/source/sources.h"

static struct sources *
sources_part(struct worker_part *part)
{
	return CONTAINER_OF(part, struct sources, part);
}

/* Those that are configured and not here begin, where they have drained. */
static void
begin_missing(struct sources *all)
{
	struct worker *w = all->worker;
	const struct conf *conf = w->generation->conf;
	struct source *s;
	for (size_t i = 0; i < conf->n_sources && !all->draining; i++) {
		const struct conf_source *source = &conf->sources[i];
		bool begins = worker_owns(w, "source", source->name);
		LIST_EACH(s, &all->list, item)
			begins &= strcmp(s->source->name, source->name) != 0;
		if (!begins)
			continue;
		s = source_new(w, conf, source,
		    source_meter_of(&all->meters, source->name,
			source->broker->name));
		list_add_first(&all->list, &s->item);
	}
}

/* What has drained is gone, and what takes its place begins. */
static bool
on_turn(void *arg)
{
	struct sources *all = arg;
	struct source *s;
	bool gone = false;
	LIST_EACH(s, &all->list, item)
		if (s->draining && source_is_drained(s)) {
			source_free(&s);
			gone = true;
		}
	if (gone)
		begin_missing(all);
	return gone;
}

/* --- what the worker says --- */

static struct worker_part *
sources_begin(struct worker *worker)
{
	struct sources *all = mem_zero(sizeof *all);
	all->part.kind = &sources_kind;
	all->worker = worker;
	list_init(&all->list);
	loop_hook(worker->loop, HOOK_FLUSH, &all->hook, on_turn, all);
	begin_missing(all);
	return &all->part;
}

static void
sources_reload(struct worker_part *part, struct generation *generation)
{
	struct sources *all = sources_part(part);
	struct source *s;
	if (all->draining)
		return;
	const struct conf *conf = generation->conf;
	LIST_EACH(s, &all->list, item) {
		bool same = false;
		for (size_t i = 0; i < conf->n_sources; i++)
			same |= !strcmp(conf->sources[i].name,
				    s->source->name) &&
			    !memcmp(conf->sources[i].digest, s->source->digest,
				sizeof s->source->digest);
		if (!same)
			source_drain(s);
	}
	begin_missing(all);
}

static void
sources_drain(struct worker_part *part)
{
	struct sources *all = sources_part(part);
	struct source *s;
	all->draining = true;
	LIST_EACH(s, &all->list, item)
		source_drain(s);
}

/* Acknowledgements that are still on their way are not waited for. */
static void
sources_over(struct worker_part *part)
{
	struct sources *all = sources_part(part);
	struct source *s;
	LIST_EACH(s, &all->list, item)
		source_free(&s);
}

static bool
sources_are_idle(const struct worker_part *part)
{
	const struct sources *all = (const struct sources *)part;
	return list_empty(&all->list) &&
	    brokers_leaving(all->worker->loop) == 0;
}

static void
sources_end(struct worker_part *part)
{
	struct sources *all = sources_part(part);
	all->draining = true;
	sources_over(part);
	loop_unhook(&all->hook);
	brokers_abandon(all->worker->loop);
}

static void
sources_free(struct worker_part *part)
{
	struct sources *all = sources_part(part);
	source_meter_clear(&all->meters);
	free(all);
}

const struct worker_part_kind sources_kind = {
    .name = "sources",
    .begin = sources_begin,
    .reload = sources_reload,
    .drain = sources_drain,
    .over = sources_over,
    .is_idle = sources_are_idle,
    .end = sources_end,
    .free = sources_free,
};

struct sources *
sources_of(const struct worker *worker)
{
	struct worker_part *part = worker->parts;
	for (; part != NULL; part = part->next)
		if (part->kind == &sources_kind)
			return sources_part(part);
	return NULL;
}
