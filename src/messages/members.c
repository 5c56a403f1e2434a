/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/container.h"
#include "gate/worker.h"
#include "messages/brokers.h"
#include "messages/members.h"

/* Those that are configured and not here begin, where they have drained. */
static void
begin_missing(struct members *all)
{
	const struct member_kind *kind = all->kind;
	const struct conf *conf = all->worker->generation->conf;
	struct part_member *m, next;
	for (size_t i = 0; !all->draining && kind->read(conf, i, &next); i++) {
		bool begins = worker_owns(all->worker, kind->word, next.name);
		LIST_EACH(m, &all->list, item)
			begins &= strcmp(m->name, next.name) != 0;
		if (!begins)
			continue;
		m = kind->begin(all, i);
		m->name = next.name;
		m->digest = next.digest;
		list_add_first(&all->list, &m->item);
	}
}

static void
drain(struct members *all, struct part_member *m)
{
	if (m->draining)
		return;
	m->draining = true;
	all->kind->drain(m);
}

/* What has drained is gone, and what takes its place begins. */
static bool
on_turn(void *arg)
{
	struct members *all = arg;
	struct part_member *m;
	bool gone = false;
	LIST_EACH(m, &all->list, item)
		if (m->draining && all->kind->is_drained(m)) {
			list_remove(&m->item);
			all->kind->end(m);
			gone = true;
		}
	if (gone)
		begin_missing(all);
	return gone;
}

/* --- what the worker says --- */

void
members_begin(struct members *all, const struct member_kind *kind,
    struct worker *worker)
{
	all->kind = kind;
	all->worker = worker;
	list_init(&all->list);
	loop_hook(worker->loop, HOOK_FLUSH, &all->hook, on_turn, all);
	begin_missing(all);
}

void
members_reload(struct worker_part *part, struct generation *generation)
{
	struct members *all = CONTAINER_OF(part, struct members, part);
	struct part_member *m, now;
	if (all->draining)
		return;
	LIST_EACH(m, &all->list, item) {
		bool same = false;
		for (size_t i = 0; all->kind->read(generation->conf, i, &now);
		     i++)
			same |= !strcmp(now.name, m->name) &&
			    span_eq(now.digest, m->digest);
		if (!same)
			drain(all, m);
	}
	begin_missing(all);
}

void
members_drain(struct worker_part *part)
{
	struct members *all = CONTAINER_OF(part, struct members, part);
	struct part_member *m;
	all->draining = true;
	LIST_EACH(m, &all->list, item)
		drain(all, m);
}

/*
 * What is still on its way is not waited for: whoever has its message or leads
 * its relay next finds out what became of it.
 */
void
members_over(struct worker_part *part)
{
	struct members *all = CONTAINER_OF(part, struct members, part);
	struct part_member *m;
	LIST_EACH(m, &all->list, item) {
		list_remove(&m->item);
		all->kind->end(m);
	}
}

bool
members_are_idle(const struct worker_part *part)
{
	const struct members *all = (const struct members *)part;
	return list_empty(&all->list) &&
	    brokers_leaving(all->worker->loop) == 0;
}

void
members_end(struct worker_part *part)
{
	struct members *all = CONTAINER_OF(part, struct members, part);
	all->draining = true;
	members_over(part);
	loop_unhook(&all->hook);
	brokers_abandon(all->worker->loop);
}

void *
members_of(const struct worker *worker, const struct worker_part_kind *kind)
{
	struct worker_part *part = worker->parts;
	while (part != NULL && part->kind != kind)
		part = part->next;
	return part;
}
