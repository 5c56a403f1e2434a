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

static bool
has_source(struct sources *all, const char *name)
{
	struct source *s;
	LIST_EACH(s, &all->list, item)
		if (!strcmp(s->source->name, name))
			return true;
	return false;
}

/* Those that are configured and not here begin, where they have drained. */
static void
begin_missing(struct sources *all)
{
	struct worker *w = all->worker;
	const struct conf *conf = w->generation->conf;
	for (size_t i = 0; i < conf->n_sources && !all->draining; i++) {
		const struct conf_source *source = &conf->sources[i];
		if (!worker_owns(w, "source", source->name) ||
		    has_source(all, source->name))
			continue;
		struct source *s = source_new(w, conf, source,
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

static bool
is_unchanged(const struct conf *conf, const struct conf_source *source)
{
	for (size_t i = 0; i < conf->n_sources; i++)
		if (!strcmp(conf->sources[i].name, source->name))
			return !memcmp(conf->sources[i].digest, source->digest,
			    sizeof source->digest);
	return false;
}

static void
sources_reload(struct worker_part *part, struct generation *generation)
{
	struct sources *all = sources_part(part);
	struct source *s;
	if (all->draining)
		return;
	LIST_EACH(s, &all->list, item)
		if (!is_unchanged(generation->conf, s->source))
			source_drain(s);
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
