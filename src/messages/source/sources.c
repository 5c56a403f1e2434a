/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/mem.h"
#include "messages/brokers.h"
#include "messages/source/sources.h"

static bool on_turn(void *arg);

static struct sources *
sources_part(struct worker_part *part)
{
	return CONTAINER_OF(part, struct sources, part);
}

/* The same one for as long as it has that name, however many there are. */
static bool
is_of_worker(const struct worker *w, const struct conf_source *source)
{
	uint8_t hash[DIGEST_BYTES];
	struct digest digest;
	digest_begin(&digest, SPAN("source"), SPAN(""));
	digest_part(&digest, span_str(source->name));
	digest_end(&digest, hash);
	return (hash[0] | (unsigned)hash[1] << 8) % w->conf->workers ==
	    w->index;
}

static struct source *
source_named(struct source *first, const char *name)
{
	for (; first != NULL; first = first->next)
		if (!strcmp(first->source->name, name))
			return first;
	return NULL;
}

static void
begin(struct sources *all, const struct conf *conf,
    const struct conf_source *source)
{
	struct source_meter *meter = source_meter_of(
	    &all->meters, source->name, source->broker->name);
	struct source *s = source_new(all->worker, conf, source, meter);
	s->next = all->first;
	all->first = s;
}

/* Those that are configured and not here, as far as they have drained. */
static void
begin_missing(struct sources *all)
{
	const struct conf *conf = all->worker->generation->conf;
	for (size_t i = 0; i < conf->n_sources; i++) {
		const struct conf_source *source = &conf->sources[i];
		if (is_of_worker(all->worker, source) &&
		    source_named(all->first, source->name) == NULL &&
		    source_named(all->leaving, source->name) == NULL)
			begin(all, conf, source);
	}
}

static void
hook(struct sources *all)
{
	if (all->hooked)
		return;
	all->hooked = true;
	loop_hook(all->worker->loop, HOOK_FLUSH, &all->hook, on_turn, all);
}

static void
unhook(struct sources *all)
{
	if (all->hooked)
		loop_unhook(&all->hook);
	all->hooked = false;
}

/*
 * What has drained is gone, and what takes its place begins.  The worker's own
 * hook runs before this one: where it waits for that, it looks again at once.
 */
static bool
on_turn(void *arg)
{
	struct sources *all = arg;
	struct source **at = &all->leaving;
	bool gone = false;
	while (*at != NULL) {
		struct source *s = *at;
		if (!source_is_drained(s)) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		source_free(&s);
		gone = true;
	}
	if (!all->draining)
		begin_missing(all);
	if (all->leaving == NULL)
		unhook(all);
	return gone;
}

/* Takes it off the list of those that go on, and drains it. */
static void
leave(struct sources *all, struct source **at)
{
	struct source *s = *at;
	*at = s->next;
	s->next = all->leaving;
	all->leaving = s;
	source_drain(s);
	hook(all);
}

/* --- what the worker says --- */

static struct worker_part *
sources_begin(struct worker *worker)
{
	struct sources *all = mem_zero(sizeof *all);
	all->part.kind = &sources_kind;
	all->worker = worker;
	begin_missing(all);
	return &all->part;
}

static bool
is_unchanged(const struct conf_source *a, const struct conf_source *b)
{
	return b != NULL && !memcmp(a->digest, b->digest, sizeof a->digest);
}

static const struct conf_source *
configured(const struct conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->n_sources; i++)
		if (!strcmp(conf->sources[i].name, name))
			return &conf->sources[i];
	return NULL;
}

static void
sources_reload(struct worker_part *part, struct generation *generation)
{
	struct sources *all = sources_part(part);
	struct source **at = &all->first;
	if (all->draining)
		return;
	while (*at != NULL) {
		const struct conf_source *source = (*at)->source;
		if (is_unchanged(source,
			configured(generation->conf, source->name)))
			at = &(*at)->next;
		else
			leave(all, at);
	}
	begin_missing(all);
}

static void
sources_drain(struct worker_part *part)
{
	struct sources *all = sources_part(part);
	all->draining = true;
	while (all->first != NULL)
		leave(all, &all->first);
}

/* Acknowledgements that are still on their way are not waited for. */
static void
end_leaving(struct sources *all)
{
	while (all->leaving != NULL) {
		struct source *s = all->leaving;
		all->leaving = s->next;
		source_free(&s);
	}
}

static void
sources_over(struct worker_part *part)
{
	end_leaving(sources_part(part));
}

static bool
sources_are_idle(const struct worker_part *part)
{
	const struct sources *all = (const struct sources *)part;
	return all->first == NULL && all->leaving == NULL &&
	    brokers_leaving(all->worker->loop) == 0;
}

static void
sources_end(struct worker_part *part)
{
	struct sources *all = sources_part(part);
	sources_drain(part);
	end_leaving(all);
	unhook(all);
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
