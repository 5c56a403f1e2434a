/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>

#include "gate/worker_part.h"

struct worker_part *
worker_part_begin_all(
    struct worker *worker, const struct worker_part_kind *const *kinds)
{
	struct worker_part *first = NULL, **end = &first;
	for (; kinds != NULL && *kinds != NULL; kinds++) {
		*end = (*kinds)->begin(worker);
		if (*end != NULL)
			end = &(*end)->next;
	}
	return first;
}

void
worker_part_reload_all(
    struct worker_part *first, struct generation *generation)
{
	for (; first != NULL; first = first->next)
		first->kind->reload(first, generation);
}

void
worker_part_drain_all(struct worker_part *first)
{
	for (; first != NULL; first = first->next)
		first->kind->drain(first);
}

void
worker_part_over_all(struct worker_part *first)
{
	for (; first != NULL; first = first->next)
		first->kind->over(first);
}

bool
worker_part_are_idle(const struct worker_part *first)
{
	for (; first != NULL; first = first->next)
		if (!first->kind->is_idle(first))
			return false;
	return true;
}

void
worker_part_end_all(struct worker_part *first)
{
	for (; first != NULL; first = first->next)
		first->kind->end(first);
}

void
worker_part_free_all(struct worker_part **first)
{
	while (*first != NULL) {
		struct worker_part *part = *first;
		*first = part->next;
		part->kind->free(part);
	}
}
