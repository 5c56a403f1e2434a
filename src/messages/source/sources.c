/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/mem.h"
#include "gate/worker.h"
#include "messages/source/sources.h"

static bool
read_source(const struct conf *conf, size_t at, struct part_member *ret_member)
{
	if (at >= conf->n_sources)
		return false;
	const struct conf_source *source = &conf->sources[at];
	ret_member->name = source->name;
	ret_member->digest =
	    span_of((const char *)source->digest, sizeof source->digest);
	return true;
}

static struct part_member *
begin_source(struct members *members, size_t at)
{
	struct sources *all = CONTAINER_OF(members, struct sources, members);
	const struct conf *conf = members->worker->generation->conf;
	const struct conf_source *source = &conf->sources[at];
	const char *broker = source->broker->name;
	/* There is a series of that name, or it begins with this one. */
	struct source_meter *_Atomic *meter = &all->meters;
	while (*meter != NULL &&
	    (strcmp((*meter)->name, source->name) != 0 ||
		strcmp((*meter)->broker, broker) != 0))
		meter = &(*meter)->next;
	if (*meter == NULL) {
		struct source_meter *m = mem_zero(sizeof *m);
		m->name = mem_text(source->name);
		m->broker = mem_text(broker);
		counter_set(&m->lag, SOURCE_METER_NO_LAG);
		*meter = m;
	}
	return &source_new(members->worker, conf, source, *meter)->member;
}

static const struct member_kind kind = {
    .word = "source",
    .read = read_source,
    .begin = begin_source,
    .drain = source_drain,
    .is_drained = source_is_drained,
    .end = source_free,
};

static struct worker_part *
sources_begin(struct worker *worker)
{
	struct sources *all = mem_zero(sizeof *all);
	all->members.part.kind = &sources_kind;
	members_begin(&all->members, &kind, worker);
	return &all->members.part;
}

static void
sources_free(struct worker_part *part)
{
	struct sources *all = CONTAINER_OF(part, struct sources, members.part);
	struct source_meter *m = all->meters, *next;
	for (; m != NULL; m = next) {
		next = m->next;
		free(m->name);
		free(m->broker);
		key_set_clear(&m->sent);
		free(m);
	}
	free(all);
}

const struct worker_part_kind sources_kind = {
    .begin = sources_begin,
    .reload = members_reload,
    .drain = members_drain,
    .over = members_over,
    .is_idle = members_are_idle,
    .end = members_end,
    .free = sources_free,
};
